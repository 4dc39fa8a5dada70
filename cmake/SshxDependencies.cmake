# Everything comes from the distribution, except libssh2, which scripts/build-libssh2 has built before.
# Nothing is downloaded here.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)

add_library(sshx_fmt INTERFACE)
if(SSHX_STATIC_RUNTIME)
  # The distribution has fmt as a shared object only, which would bring the shared libstdc++ back; its sources are a header.
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/generated/fmt.cpp" CONTENT [[
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
}  // namespace detail
FMT_END_NAMESPACE
]])
  add_library(sshx_fmt_objects STATIC "${PROJECT_BINARY_DIR}/generated/fmt.cpp")
  target_compile_features(sshx_fmt_objects PRIVATE cxx_std_20)
  target_include_directories(sshx_fmt_objects SYSTEM PUBLIC "$<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>")
  target_link_libraries(sshx_fmt INTERFACE sshx_fmt_objects)
else()
  target_link_libraries(sshx_fmt INTERFACE fmt::fmt)
endif()

# Its headers only: the library is loaded when a secret is needed (ADR 15).
find_package(PkgConfig REQUIRED)
pkg_check_modules(libsecret REQUIRED libsecret-1)
add_library(sshx_libsecret INTERFACE)
target_include_directories(sshx_libsecret SYSTEM INTERFACE ${libsecret_INCLUDE_DIRS})
target_link_libraries(sshx_libsecret INTERFACE ${CMAKE_DL_LIBS})

find_path(SSHX_ASIO_INCLUDE asio.hpp REQUIRED)
mark_as_advanced(SSHX_ASIO_INCLUDE)
add_library(sshx_asio INTERFACE)
target_include_directories(sshx_asio SYSTEM INTERFACE "${SSHX_ASIO_INCLUDE}")
# Asio 1.22 knows clang's coroutines only in their experimental form; clang-tidy reads these headers too.
target_compile_definitions(sshx_asio INTERFACE ASIO_STANDALONE ASIO_HAS_CO_AWAIT ASIO_HAS_STD_COROUTINE)
target_link_libraries(sshx_asio INTERFACE Threads::Threads)
if(SSHX_SANITIZE MATCHES "thread")
  # The thread sanitizer does not understand fences. These are for handlers on several threads, which we do not have.
  target_compile_definitions(sshx_asio INTERFACE ASIO_DISABLE_FENCED_BLOCK)
endif()

if(SSHX_SYSTEM_LIBSSH2)
  pkg_check_modules(libssh2 REQUIRED IMPORTED_TARGET libssh2>=1.11.1)
  add_library(Libssh2::libssh2 ALIAS PkgConfig::libssh2)
  set(SSHX_LIBSSH2_ORIGIN "system ${libssh2_VERSION}")
else()
  set(stamp "${SSHX_DEPS_PREFIX}/.stamp")
  if(NOT EXISTS "${stamp}")
    message(FATAL_ERROR "No libssh2 in ${SSHX_DEPS_PREFIX}. Run scripts/build-libssh2 (scripts/build does it), "
                        "or configure with -DSSHX_SYSTEM_LIBSSH2=ON.")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${stamp}")
  find_package(Libssh2 1.11.1 CONFIG REQUIRED PATHS "${SSHX_DEPS_PREFIX}" NO_DEFAULT_PATH)
  file(STRINGS "${stamp}" source_version REGEX "^version: ")
  file(STRINGS "${stamp}" patch_count REGEX "^patches: ")
  string(REPLACE "version: " "" source_version "${source_version}")
  string(REPLACE "patches: " "" patch_count "${patch_count}")
  set(SSHX_LIBSSH2_ORIGIN "static ${source_version} + ${patch_count} patches")
endif()

# The system's Python: a version manager's shim in PATH may lack the distribution's modules.
if(NOT Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
