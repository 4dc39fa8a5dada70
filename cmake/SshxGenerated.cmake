# Sources and pages that are made at build time, under <build>/generated (an include root):
#   core/descriptor_tables.cpp, man/*.1, completions/sshx.bash, schemas/*.json   by tools/descriptors/generate.py
#   exec/end_session.h                                                            by tools/embed_shell/embed.py
#   core/build_info.h                                                             by cmake/WriteBuildInfo.cmake

set(SSHX_GENERATED "${PROJECT_BINARY_DIR}/generated")
set(SSHX_DESCRIPTOR_TABLES "${SSHX_GENERATED}/core/descriptor_tables.cpp")
set(SSHX_END_SESSION "${SSHX_GENERATED}/exec/end_session.h")

file(
  GLOB_RECURSE descriptor_inputs CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/schemas/*.json" "${PROJECT_SOURCE_DIR}/man/*" "${PROJECT_SOURCE_DIR}/tools/descriptors/*.py")
add_custom_command(
  OUTPUT "${SSHX_DESCRIPTOR_TABLES}"
  COMMAND
    Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/descriptors/generate.py" --schemas "${PROJECT_SOURCE_DIR}/schemas"
    --man "${PROJECT_SOURCE_DIR}/man" --out "${SSHX_GENERATED}" --version "${PROJECT_VERSION}"
  # The generator leaves files that did not change alone; touching its main output keeps ninja from
  # running it again for an edit that changed a page only.
  COMMAND "${CMAKE_COMMAND}" -E touch "${SSHX_DESCRIPTOR_TABLES}"
  DEPENDS ${descriptor_inputs}
  COMMENT "Generating descriptor tables, man pages and completion"
  VERBATIM)
add_custom_target(sshx_descriptors DEPENDS "${SSHX_DESCRIPTOR_TABLES}")

file(MAKE_DIRECTORY "${SSHX_GENERATED}/exec")
add_custom_command(
  OUTPUT "${SSHX_END_SESSION}"
  COMMAND
    Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/embed_shell/embed.py" "${PROJECT_SOURCE_DIR}/src/exec/end_session.sh"
    "${SSHX_END_SESSION}" sshx::exec kEndSession
  DEPENDS "${PROJECT_SOURCE_DIR}/src/exec/end_session.sh" "${PROJECT_SOURCE_DIR}/tools/embed_shell/embed.py"
  COMMENT "Embedding the script that ends a session"
  VERBATIM)
add_custom_target(sshx_end_session DEPENDS "${SSHX_END_SESSION}")

# The commit can change without any file that a build depends on, so this looks every time; the header
# is only rewritten when its text changes.
add_custom_target(
  sshx_build_info
  COMMAND
    "${CMAKE_COMMAND}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${SSHX_GENERATED}/core/build_info.h"
    "-DTEMPLATE=${PROJECT_SOURCE_DIR}/cmake/build_info.h.in" "-DVERSION=${PROJECT_VERSION}"
    "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}" "-DSANITIZE=${SSHX_SANITIZE}" "-DLIBSSH2_ORIGIN=${SSHX_LIBSSH2_ORIGIN}" -P
    "${PROJECT_SOURCE_DIR}/cmake/WriteBuildInfo.cmake"
  BYPRODUCTS "${SSHX_GENERATED}/core/build_info.h"
  VERBATIM)
