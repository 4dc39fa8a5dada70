# cmake -DSOURCE_DIR= -DTEMPLATE= -DOUTPUT= -DVERSION= … -P WriteBuildInfo.cmake

set(COMMIT "")
find_program(git git)
if(git AND EXISTS "${SOURCE_DIR}/.git")
  execute_process(
    COMMAND "${git}" -C "${SOURCE_DIR}" rev-parse --short=12 --verify HEAD
    OUTPUT_VARIABLE COMMIT
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE no_commit)
  if(NOT no_commit)
    execute_process(COMMAND "${git}" --no-optional-locks -C "${SOURCE_DIR}" diff-index --quiet HEAD --
                    RESULT_VARIABLE is_dirty OUTPUT_QUIET ERROR_QUIET)
    if(is_dirty)
      string(APPEND COMMIT "-dirty")
    endif()
  endif()
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
