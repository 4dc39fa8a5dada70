# sshx_room(NAME <room> [DEPENDS <room>...] [LIBRARIES <target>...] [GENERATED <file>...])
#
# Makes the static library sshx_<room> from src/<room>/*.cpp and the generated sources. DEPENDS are the arrows of the design: the
# link graph is the architecture, and tools/lint/include_graph.py holds the includes to the same arrows.
function(sshx_room)
  cmake_parse_arguments(PARSE_ARGV 0 room "" "NAME" "DEPENDS;LIBRARIES;GENERATED")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room_NAME}/*.cpp")
  # main.cpp belongs to the executable, so that tests can link everything else.
  list(REMOVE_ITEM sources "${PROJECT_SOURCE_DIR}/src/${room_NAME}/main.cpp")
  list(APPEND sources ${room_GENERATED})
  set(kind STATIC)
  set(scope PUBLIC)
  if(NOT sources)
    set(kind INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(sshx_${room_NAME} ${kind} ${sources})
  list(TRANSFORM room_DEPENDS PREPEND sshx_)
  target_link_libraries(sshx_${room_NAME} ${scope} ${room_DEPENDS} ${room_LIBRARIES})
  if(sources)
    target_link_libraries(sshx_${room_NAME} PRIVATE sshx_settings sshx_warnings)
  endif()
endfunction()

# sshx_unit(<room>): the test executable unit_<room> from tests/unit/<room>/*.cpp, one ctest entry
# unit.<room>. Unit tests use no network. A skipped or an empty test program is a failure.
function(sshx_unit room)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/${room}/*.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(unit_${room} ${sources})
  target_include_directories(unit_${room} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(unit_${room} PRIVATE sshx_${room} sshx_settings sshx_warnings GTest::gmock_main)
  # A test's own code is not worth the time that optimising it takes under the sanitizers.
  target_compile_options(unit_${room} PRIVATE -O0)
  if(SSHX_SANITIZE)
    # GCC 12 takes parts of std::regex for uninitialised when it instruments them (GCC bug 105562); the
    # sanitizers see the real thing.
    target_compile_options(unit_${room} PRIVATE -Wno-maybe-uninitialized)
  endif()
  set(name "${SSHX_TEST_PREFIX}unit.${room}")
  add_test(NAME ${name} COMMAND unit_${room} --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(
    ${name}
    PROPERTIES LABELS unit
               TIMEOUT 180
               ENVIRONMENT "${SSHX_SANITIZER_ENVIRONMENT}"
               FAIL_REGULAR_EXPRESSION "\\[  SKIPPED \\];Running 0 tests")
endfunction()
