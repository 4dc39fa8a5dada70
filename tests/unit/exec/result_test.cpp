#include <gmock/gmock.h>

#include "exec/result.h"
#include "unit/exec/samples.h"
#include "unit/exec/schema_check.h"

namespace sshx::exec {
namespace {

using ssh::Acknowledgement;
using testing::AnyOf;

using test::planned;
using test::some_error;

/// What follows from one outcome.
struct Row {
  std::string name;
  Acknowledgement request = Acknowledgement::not_sent;
  std::optional<int> status = std::nullopt;
  std::optional<std::string> signal = std::nullopt;
  bool closed = false;
  std::optional<Error> error = std::nullopt;

  Completion completion = Completion::not_started;
  std::optional<bool> executed = std::nullopt;
  RemoteState remote_state = RemoteState::unknown;
  std::string outcome;  ///< "kind/code", or "ok".
  int process_exit = 255;
  int document_exit = -1;
};

ExecutionResult result_of(const Row& row) {
  ExecutionResult result = planned();
  result.outcome.request = row.request;
  result.outcome.exit_status = row.status;
  result.outcome.exit_signal = row.signal;
  result.outcome.closed = row.closed;
  result.outcome.stopped = row.error;
  result.error = row.error;
  finalise(result);
  return result;
}

std::vector<Row> not_started_rows() {
  std::vector<Row> rows;
  for (const auto& [kind, code] :
       std::vector<std::pair<ErrorKind, std::string>>{{ErrorKind::config, "known_hosts"},
                                                      {ErrorKind::local_io, "audit_write"},
                                                      {ErrorKind::connect, "refused"},
                                                      {ErrorKind::connect, "timeout"},
                                                      {ErrorKind::host_key, "changed"},
                                                      {ErrorKind::auth, "refused"},
                                                      {ErrorKind::cancelled, "signal"},
                                                      {ErrorKind::busy, "audit_locked"},
                                                      {ErrorKind::protocol, "no_common_algorithm"},
                                                      {ErrorKind::connection_lost, "closed"}})
    rows.push_back({.name = "NothingSent_" + std::string(to_string(kind)) + "_" + code,
                    .error = some_error(kind, code),
                    .completion = Completion::not_started,
                    .executed = false,
                    .remote_state = RemoteState::not_started,
                    .outcome = std::string(to_string(kind)) + "/" + code});
  return rows;
}

std::vector<Row> unacknowledged_rows() {
  std::vector<Row> rows;
  for (const auto& [kind, code] :
       std::vector<std::pair<ErrorKind, std::string>>{{ErrorKind::timeout, "command"},
                                                      {ErrorKind::cancelled, "signal"},
                                                      {ErrorKind::connection_lost, "closed"},
                                                      {ErrorKind::connection_lost, "reset"}})
    rows.push_back({.name = "NoAnswer_" + std::string(to_string(kind)) + "_" + code,
                    .request = Acknowledgement::awaited,
                    .error = some_error(kind, code),
                    .completion = Completion::unknown,
                    .executed = std::nullopt,
                    .remote_state = RemoteState::unknown,
                    .outcome = std::string(to_string(kind)) + "/" + code});
  return rows;
}

std::vector<Row> ended_rows() {
  const auto ended = [](const std::string& name, int status, int process, int document) {
    return Row{.name = name,
               .request = Acknowledgement::success,
               .status = status,
               .closed = true,
               .completion = Completion::completed,
               .executed = true,
               .remote_state = RemoteState::exited,
               .outcome = status == 0 ? "ok" : "remote_exit/status",
               .process_exit = process,
               .document_exit = document};
  };
  const auto killed = [](const std::string& signal, int process) {
    return Row{.name = "Signal_" + signal.substr(0, signal.find('@')),
               .request = Acknowledgement::success,
               .signal = signal,
               .closed = true,
               .completion = Completion::completed,
               .executed = true,
               .remote_state = RemoteState::exited,
               .outcome = "remote_exit/signal",
               .process_exit = process,
               .document_exit = -1};
  };
  std::vector<Row> rows;
  for (const int status : {0, 1, 2, 42, 126, 127, 128, 130, 137, 254})
    rows.push_back(ended("Status_" + std::to_string(status), status, status, status));
  // A remote 255 is told apart by the document's exit_code.
  rows.push_back(ended("Status_255", 255, 255, 255));
  // RFC 4254 §6.10: a uint32. None of these may look like success.
  for (const int status : {256, 257, 512, 65536, 2147483647})
    rows.push_back(ended("Status_" + std::to_string(status), status, 255, status));
  // B003
  for (const auto& [name, number] : std::vector<std::pair<std::string, int>>{{"HUP", SIGHUP},
                                                                             {"INT", SIGINT},
                                                                             {"QUIT", SIGQUIT},
                                                                             {"ILL", SIGILL},
                                                                             {"ABRT", SIGABRT},
                                                                             {"FPE", SIGFPE},
                                                                             {"KILL", SIGKILL},
                                                                             {"SEGV", SIGSEGV},
                                                                             {"PIPE", SIGPIPE},
                                                                             {"ALRM", SIGALRM},
                                                                             {"TERM", SIGTERM},
                                                                             {"USR1", SIGUSR1},
                                                                             {"USR2", SIGUSR2}})
    rows.push_back(killed(name, 128 + number));
  rows.push_back(killed("NOSUCH", 255));
  rows.push_back(killed("odd@example.com", 255));
  return rows;
}

std::vector<Row> uncertain_rows() {
  return {
      // B002: a missing status is never success.
      {.name = "ClosedWithoutStatus",
       .request = Acknowledgement::success,
       .closed = true,
       .completion = Completion::completed_unconfirmed,
       .executed = true,
       .remote_state = RemoteState::unknown,
       .outcome = "exit_missing/closed"},
      {.name = "Deadline",
       .request = Acknowledgement::success,
       .error = some_error(ErrorKind::timeout, "command"),
       .completion = Completion::partial,
       .executed = true,
       .remote_state = RemoteState::unknown,
       .outcome = "timeout/command"},
      {.name = "Cancelled",
       .request = Acknowledgement::success,
       .error = some_error(ErrorKind::cancelled, "signal"),
       .completion = Completion::partial,
       .executed = true,
       .remote_state = RemoteState::unknown,
       .outcome = "cancelled/signal"},
      // B202
      {.name = "ConnectionLost",
       .request = Acknowledgement::success,
       .error = some_error(ErrorKind::connection_lost, "reset"),
       .completion = Completion::unknown,
       .executed = true,
       .remote_state = RemoteState::unknown,
       .outcome = "connection_lost/reset"},
      // B094: the server's word is evidence.
      {.name = "ExecRefused",
       .request = Acknowledgement::failure,
       .error = some_error(ErrorKind::protocol, "exec_refused"),
       .completion = Completion::not_started,
       .executed = false,
       .remote_state = RemoteState::not_started,
       .outcome = "protocol/exec_refused"},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto& part :
       {not_started_rows(), unacknowledged_rows(), ended_rows(), uncertain_rows()})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

std::string error_of(const ExecutionResult& result) {
  if (!result.error) return "ok";
  return std::string(to_string(result.error->kind)) + "/" + result.error->code;
}

class OutcomeTest : public testing::TestWithParam<Row> {};

TEST_P(OutcomeTest, IsJudgedByWhatWasSeen) {
  const Row& row = GetParam();
  const ExecutionResult result = result_of(row);
  EXPECT_EQ(result.completion, row.completion) << to_string(result.completion);
  EXPECT_EQ(result.executed, row.executed);
  EXPECT_EQ(result.remote_state, row.remote_state) << to_string(result.remote_state);
  EXPECT_EQ(error_of(result), row.outcome);
  EXPECT_EQ(result.success(), row.outcome == "ok");
  EXPECT_EQ(exit_code(result), row.process_exit);
}

TEST_P(OutcomeTest, TheDocumentSaysTheSame) {
  const Row& row = GetParam();
  const ExecutionResult result = result_of(row);
  const Json document = result_document(result);
  test::expect_valid(document);
  EXPECT_EQ(document["completion"], std::string(to_string(row.completion)));
  EXPECT_EQ(document["executed"], row.executed ? Json(*row.executed) : Json(nullptr));
  EXPECT_EQ(document["remote_state"], std::string(to_string(row.remote_state)));
  EXPECT_EQ(document["exit_code"], row.document_exit);
  EXPECT_EQ(document["signal"], row.signal ? Json(*row.signal) : Json(nullptr));
  EXPECT_EQ(document["success"], row.outcome == "ok");
  EXPECT_EQ(document["status"], row.outcome == "ok" ? "succeeded" : "failed");
  if (row.outcome == "ok") {
    EXPECT_TRUE(document["error"].is_null());
    EXPECT_TRUE(document["error_kind"].is_null());
    EXPECT_EQ(document["phase"], "complete");
    return;
  }
  EXPECT_EQ(document["error"]["kind"].get<std::string>() + "/" +
                document["error"]["code"].get<std::string>(),
            row.outcome);
  EXPECT_EQ(document["error_kind"], document["error"]["kind"]);
  EXPECT_EQ(document["phase"], document["error"]["phase"]);
  EXPECT_NE(document["error"]["message"], "");
}

// Design §3: a change whose completion is uncertain is never safe to send again.
TEST_P(OutcomeTest, RetryAdviceIsCareful) {
  const Row& row = GetParam();
  for (const Intent intent : {Intent::change, Intent::unknown, Intent::read}) {
    ExecutionResult result = result_of(row);
    result.action.intent = intent;
    const std::string_view advice = retry_safety(result);
    EXPECT_THAT(advice, AnyOf("safe", "verify_first", "unsafe", "unknown"));
    if (row.completion == Completion::not_started) {
      EXPECT_EQ(advice, "safe");
    } else if (row.completion != Completion::completed && intent != Intent::read) {
      EXPECT_NE(advice, "safe");
    }
    if (result.error) {
      EXPECT_EQ(result_document(result)["error"]["retry_safety"], std::string(advice));
    }
  }
}

TEST_P(OutcomeTest, NothingIsSaidToHaveChangedWithoutEvidence) {
  const Row& row = GetParam();
  const Json document = result_document(result_of(row));
  if (row.completion == Completion::not_started) {
    EXPECT_EQ(document["change_state"], "unchanged");
  } else {
    EXPECT_EQ(document["change_state"], "unknown");
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OutcomeTest, testing::ValuesIn(all_rows()),
                         [](const auto& instance) { return instance.param.name; });

TEST(ExitCodeTest, AFailureOfOurOwnIsNeverSuccess) {
  // The command ended well, but what it printed could not be delivered.
  const ExecutionResult result = result_of({.name = "",
                                            .request = Acknowledgement::success,
                                            .status = 0,
                                            .closed = true,
                                            .error = some_error(ErrorKind::local_io, "broken_pipe"),
                                            .outcome = ""});
  EXPECT_EQ(exit_code(result), 255);
  EXPECT_EQ(result.completion, Completion::completed);
  EXPECT_EQ(result.remote_state, RemoteState::exited);
  EXPECT_EQ(error_of(result), "local_io/broken_pipe");
  EXPECT_FALSE(result.success());
}

TEST(ExitCodeTest, ASignalBesideAZeroStatusIsNotSuccess) {
  const ExecutionResult result = result_of({.name = "",
                                            .request = Acknowledgement::success,
                                            .status = 0,
                                            .signal = "TERM",
                                            .closed = true,
                                            .outcome = ""});
  EXPECT_EQ(error_of(result), "remote_exit/signal");
  EXPECT_EQ(exit_code(result), 143);
  EXPECT_EQ(result_document(result)["exit_code"], -1);
}

TEST(ExitCodeTest, AStatusThatDoesNotFitIsNotSuccess) {
  // 0xffffffff, 0x80000000 and 0xffffff00 as a signed number.
  for (const int status : {-1, std::numeric_limits<int>::min(), -256}) {
    const ExecutionResult result = result_of({.name = "",
                                              .request = Acknowledgement::success,
                                              .status = status,
                                              .closed = true,
                                              .outcome = ""});
    EXPECT_EQ(exit_code(result), 255) << status;
    EXPECT_EQ(error_of(result), "remote_exit/status") << status;
  }
}

TEST(SignalNumberTest, KnowsNamesWithoutSig) {
  EXPECT_EQ(signal_number("KILL"), 9);
  EXPECT_EQ(signal_number("TERM"), 15);
  EXPECT_EQ(signal_number("HUP"), 1);
  for (const std::string name : {"", "NOSUCH", "9", "KILL ", "odd@example.com"})
    EXPECT_EQ(signal_number(name), std::nullopt) << name;
}

}  // namespace
}  // namespace sshx::exec
