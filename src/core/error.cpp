#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace sshx {
namespace {

constexpr std::array<ErrorKindInfo, 23> kKinds{{
    {ErrorKind::config, "config", Phase::resolve, Retryable::no,
     "The request, a file or the environment is wrong; nothing was started."},
    {ErrorKind::blocked, "blocked", Phase::admission, Retryable::no,
     "The safety check or a policy refused the request; nothing was started."},
    {ErrorKind::plan_mismatch, "plan_mismatch", Phase::admission, Retryable::no,
     "The plan is not the one that was reviewed; nothing was started."},
    {ErrorKind::plan_unresolved, "plan_unresolved", Phase::admission, Retryable::no,
     "The plan cannot be bound because part of it is not known offline; nothing was started."},
    {ErrorKind::approval, "approval", Phase::admission, Retryable::no,
     "A needed approval is missing, expired or used; nothing was started."},
    {ErrorKind::secret, "secret", Phase::admission, Retryable::no,
     "A secret could not be read from its store."},
    {ErrorKind::local_io, "local_io", Phase::resolve, Retryable::no,
     "A local file could not be read or written."},
    {ErrorKind::connect, "connect", Phase::connect, Retryable::yes,
     "No SSH connection to the host came about."},
    {ErrorKind::host_key, "host_key", Phase::connect, Retryable::no,
     "The host's key is not trusted; nothing was sent to authenticate."},
    {ErrorKind::auth, "auth", Phase::authenticate, Retryable::no,
     "The host accepted none of the credentials."},
    {ErrorKind::timeout, "timeout", Phase::execute, Retryable::no,
     "A deadline passed after the command was sent."},
    {ErrorKind::cancelled, "cancelled", Phase::execute, Retryable::no,
     "The caller cancelled the request."},
    {ErrorKind::connection_lost, "connection_lost", Phase::execute, Retryable::no,
     "The connection ended before the result was known."},
    {ErrorKind::protocol, "protocol", Phase::connect, Retryable::no,
     "The peer broke the SSH protocol or no common algorithm exists."},
    {ErrorKind::unsupported, "unsupported", Phase::resolve, Retryable::no,
     "This build or the peer cannot do what was asked."},
    {ErrorKind::busy, "busy", Phase::admission, Retryable::yes,
     "Something else is using what the request needs; nothing was started."},
    {ErrorKind::remote_exit, "remote_exit", Phase::complete, Retryable::no,
     "The remote command ended with a non-zero status or by a signal."},
    {ErrorKind::exit_missing, "exit_missing", Phase::collect, Retryable::no,
     "The server closed the channel without saying how the command ended."},
    {ErrorKind::remote_io, "remote_io", Phase::execute, Retryable::no,
     "A remote file could not be read or written."},
    {ErrorKind::precondition, "precondition", Phase::execute, Retryable::no,
     "A condition that had to hold before the change did not hold."},
    {ErrorKind::verification_failed, "verification_failed", Phase::collect, Retryable::no,
     "The effect was looked at afterwards and is not as asked."},
    {ErrorKind::adapter, "adapter", Phase::collect, Retryable::no,
     "The result could not be delivered; this says nothing about the execution."},
    {ErrorKind::internal, "internal", Phase::execute, Retryable::no, "A defect of sshx itself."},
}};

struct IoAdvice {
  std::string_view code;
  std::string_view hint;
};

IoAdvice io_advice(int error_number) {
  switch (error_number) {
  case ENOENT: return {"not_found", "check the path"};
  case EACCES:
  case EPERM:
    return {"permission", "check the owner and the permissions, of the folders above it too"};
  case ENOSPC:
  case EDQUOT: return {"no_space", "free some space there, or use another place"};
  case EFBIG:
    return {"no_space", "raise the limit on the size of files (ulimit -f), or use another place"};
  case EROFS: return {"read_only", "use a place that can be written"};
  case EPIPE: return {"broken_pipe", ""};
  default: return {"io", "see the system's log"};
  }
}

}  // namespace

const std::array<ErrorKindInfo, 23>& error_kinds() noexcept { return kKinds; }

const ErrorKindInfo& info(ErrorKind kind) noexcept {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string_view to_string(ErrorKind kind) noexcept { return info(kind).name; }

std::string_view to_string(Phase phase) noexcept {
  switch (phase) {
  case Phase::resolve: return "resolve";
  case Phase::admission: return "admission";
  case Phase::connect: return "connect";
  case Phase::authenticate: return "authenticate";
  case Phase::execute: return "execute";
  case Phase::collect: return "collect";
  case Phase::persist: return "persist";
  case Phase::complete: return "complete";
  }
  return "";
}

std::optional<ErrorKind> error_kind_from(std::string_view name) noexcept {
  const auto* const row = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const ErrorKindInfo& kind) { return kind.name == name; });
  if (row == kKinds.end()) return std::nullopt;
  return row->kind;
}

Error config_error(std::string code, std::string message, std::string hint) {
  return {ErrorKind::config, std::move(code), std::move(message), std::move(hint)};
}

Error io_error(std::string_view operation, std::string_view path, int error_number) {
  const auto reason = std::generic_category().message(error_number);
  const auto& [code, hint] = io_advice(error_number);
  return {ErrorKind::local_io, std::string(code),
          fmt::format("cannot {} {}: {}", operation, path, reason), std::string(hint)};
}

}  // namespace sshx
