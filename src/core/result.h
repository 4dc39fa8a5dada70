#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/error.h"

namespace sshx {

/// A value of T, or the Error that says why there is none. Named after std::expected, which C++20
/// lacks. `value()` on an error and `error()` on a value are bugs (std::bad_variant_access, turned
/// into `internal` in main).
template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return error;` both read naturally.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

  [[nodiscard]] Error& error() & { return std::get<1>(state_); }
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] Error& error() & { return error_.value(); }
  [[nodiscard]] const Error& error() const& { return error_.value(); }
  [[nodiscard]] Error&& error() && { return std::move(error_).value(); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace sshx

#define SSHX_CONCAT_INNER(a, b) a##b
#define SSHX_CONCAT(a, b) SSHX_CONCAT_INNER(a, b)

/// `SSHX_TRY(auto x, f());` declares x from f()'s value, or returns f()'s error from the enclosing
/// function.
#define SSHX_TRY(declaration, expression)                                                          \
  SSHX_TRY_INNER(SSHX_CONCAT(sshx_try_, __LINE__), declaration, expression)
#define SSHX_TRY_INNER(name, declaration, expression)                                              \
  auto name = (expression);                                                                        \
  if (!name.has_value()) return std::move(name).error();                                           \
  declaration = std::move(name).value()

/// `SSHX_CHECK(f());` returns f()'s error from the enclosing function; f() returns Status.
#define SSHX_CHECK(expression) SSHX_CHECK_INNER(SSHX_CONCAT(sshx_check_, __LINE__), expression)
#define SSHX_CHECK_INNER(name, expression)                                                         \
  auto name = (expression);                                                                        \
  if (!name.has_value()) return std::move(name).error()

/// The same two for coroutines whose result type is a Result; `expression` may hold one co_await at
/// its front.
#define SSHX_CO_TRY(declaration, expression)                                                       \
  SSHX_CO_TRY_INNER(SSHX_CONCAT(sshx_try_, __LINE__), declaration, expression)
#define SSHX_CO_TRY_INNER(name, declaration, expression)                                           \
  auto name = expression;                                                                          \
  if (!name.has_value()) co_return std::move(name).error();                                        \
  declaration = std::move(name).value()
#define SSHX_CO_CHECK(expression)                                                                  \
  SSHX_CO_CHECK_INNER(SSHX_CONCAT(sshx_check_, __LINE__), expression)
#define SSHX_CO_CHECK_INNER(name, expression)                                                      \
  auto name = expression;                                                                          \
  if (!name.has_value()) co_return std::move(name).error()
