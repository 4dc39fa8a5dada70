# Two interface targets, linked PRIVATE by our own code and tests and never by third-party code.

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_COLOR_DIAGNOSTICS ON)

add_library(sshx_settings INTERFACE)
target_compile_features(sshx_settings INTERFACE cxx_std_20)
target_include_directories(sshx_settings INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/generated")
target_compile_definitions(sshx_settings INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

add_library(sshx_warnings INTERFACE)
target_compile_options(
  sshx_warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wsign-conversion
            -Wswitch-enum
            -Wold-style-cast
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            $<$<BOOL:${SSHX_WARNINGS_ARE_ERRORS}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 takes Asio's recycled coroutine frames for a mismatch as soon as it optimises.
  target_compile_options(sshx_warnings INTERFACE -Wno-mismatched-new-delete)
endif()

if(SSHX_SANITIZE)
  # Without the frame pointer a report's stack ends at the first library frame.
  target_compile_options(sshx_settings INTERFACE -fsanitize=${SSHX_SANITIZE} -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
  target_link_options(sshx_settings INTERFACE -fsanitize=${SSHX_SANITIZE})
endif()

if(SSHX_HARDENING)
  # _FORTIFY_SOURCE needs optimisation, and a distribution's compiler may predefine another level.
  target_compile_options(
    sshx_settings
    INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection
              $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection>)
  target_link_options(sshx_settings INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
endif()
