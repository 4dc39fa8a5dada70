# What a builder may choose. The presets in CMakePresets.json set these for the usual cases.

# AUTO: with the compiler that CI uses, whose warnings are known, and with no other.
set(SSHX_WERROR OFF CACHE STRING "Treat compiler warnings as errors: ON, OFF or AUTO")
option(SSHX_SYSTEM_LIBSSH2 "Link the system's libssh2 (>= 1.11.1) instead of the static, patched build" OFF)
option(SSHX_STATIC_RUNTIME "Link libstdc++, libgcc and fmt into the binary, which then starts faster" OFF)
option(SSHX_HARDENING "Compile and link with the hardening flags of a release" OFF)
set(SSHX_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize takes them: address,undefined")
set(SSHX_DEPS_PREFIX "${PROJECT_SOURCE_DIR}/build/deps" CACHE PATH
    "Where scripts/build-libssh2 installed the static libssh2")
option(SSHX_FUZZER "Link the fuzz targets to libFuzzer instead of replaying their stored inputs (clang only)" OFF)
set(SSHX_TESTS "unit;e2e" CACHE STRING "Groups of tests to register: unit, fuzz, e2e, lint; empty for none")
set(SSHX_TEST_PREFIX "" CACHE STRING "Written before every test's name, so that several builds share one ctest run")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

find_program(SSHX_CCACHE ccache)
mark_as_advanced(SSHX_CCACHE)
if(SSHX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${SSHX_CCACHE}")
endif()

set(SSHX_WARNINGS_ARE_ERRORS "${SSHX_WERROR}")
if(SSHX_WERROR STREQUAL "AUTO")
  set(SSHX_WARNINGS_ARE_ERRORS OFF)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
    set(SSHX_WARNINGS_ARE_ERRORS ON)
  endif()
endif()
