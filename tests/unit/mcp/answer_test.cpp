#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "mcp/answer.h"
#include "unit/loop/scratch.h"

namespace sshx::mcp {
namespace {

using test::outcome_of;

const std::string kDocument = R"({"schema_version":"sshx.result.v1","success":true})";

std::string event(int seq, const std::string& name, const std::string& more = {}) {
  return R"({"schema_version":"sshx.event.v1","seq":)" + std::to_string(seq) + R"(,"event":")" +
         name + R"(","run_id":"r-1")" + more + "}\n";
}

std::string started(int seq, int selected = 1) {
  return event(seq, "run_started", R"(,"selected":)" + std::to_string(selected));
}

std::string target_finished(int seq, const std::string& document = kDocument) {
  return event(seq, "target_finished", R"(,"execution_id":"e-1","result":)" + document);
}

std::string whole_stream() {
  return started(1) + event(2, "target_started") + target_finished(3) + event(4, "run_finished");
}

struct Reading {
  std::string outcome;
  Json document;
};

Reading read_in_pieces(AnswerForm form, std::string_view bytes, const Limits& limits,
                       std::size_t size) {
  AnswerReader reader(form, limits);
  for (std::size_t at = 0; at < bytes.size(); at += size) reader.receive(bytes.substr(at, size));
  const auto document = reader.document();
  return {outcome_of(document), document.has_value() ? *document : Json()};
}

/// What comes of `bytes`, which must not depend on how they are cut.
Reading read(AnswerForm form, std::string_view bytes, const Limits& limits = {}) {
  auto whole = read_in_pieces(form, bytes, limits, bytes.size() + 1);
  for (const std::size_t size : {1U, 2U, 3U, 7U, 50U}) {
    const auto cut = read_in_pieces(form, bytes, limits, size);
    EXPECT_EQ(cut.outcome, whole.outcome) << "in pieces of " << size;
    EXPECT_EQ(cut.document, whole.document) << "in pieces of " << size;
  }
  return whole;
}

std::string outcome(AnswerForm form, std::string_view bytes, const Limits& limits = {}) {
  return read(form, bytes, limits).outcome;
}

TEST(AnswerReaderDocumentTest, IsTheDocumentVerbatim) {
  const std::string text =
      R"({"z":1,"schema_version":"sshx.result.v1","big":9007199254740993,"n":null,"s":"\u0000\"é"})";
  const auto reading = read(AnswerForm::document, text + "\n");
  ASSERT_EQ(reading.outcome, "ok");
  EXPECT_EQ(dump_json(reading.document), text);
}

TEST(AnswerReaderDocumentTest, NothingIsNoDocument) {
  EXPECT_EQ(outcome(AnswerForm::document, ""), "adapter/no_document");
}

TEST(AnswerReaderDocumentTest, WithoutItsNewlineItWasCutOff) {
  EXPECT_EQ(outcome(AnswerForm::document, kDocument), "adapter/truncated");
  EXPECT_EQ(outcome(AnswerForm::document, kDocument.substr(0, 20)), "adapter/truncated");
}

TEST(AnswerReaderDocumentTest, AnythingElseIsMalformed) {
  for (const std::string text : {"\n", "x\n", "{}\n", "[]\n", "null\n",
                                 R"({"schema_version":1})"
                                 "\n",
                                 R"({"schema_version":null})"
                                 "\n",
                                 "\xff\n"}) {
    EXPECT_EQ(outcome(AnswerForm::document, text), "adapter/malformed") << text;
  }
  EXPECT_EQ(outcome(AnswerForm::document, kDocument + "\n" + kDocument + "\n"),
            "adapter/malformed");
  EXPECT_EQ(outcome(AnswerForm::document, "noise\n" + kDocument + "\n"), "adapter/malformed");
  EXPECT_EQ(outcome(AnswerForm::document, kDocument + "\nnoise\n"), "adapter/malformed");
}

TEST(AnswerReaderDocumentTest, MayHaveAsManyBytesAsTheLimit) {
  const auto bytes = kDocument + "\n";
  Limits limits;
  limits.child_stdout_bytes = bytes.size();
  EXPECT_EQ(outcome(AnswerForm::document, bytes, limits), "ok");
  limits.child_stdout_bytes = bytes.size() + 1;
  EXPECT_EQ(outcome(AnswerForm::document, bytes, limits), "ok");
  limits.child_stdout_bytes = bytes.size() - 1;
  EXPECT_EQ(outcome(AnswerForm::document, bytes, limits), "adapter/stdout_limit");
}

TEST(AnswerReaderDocumentTest, AFaultStaysWhateverComesAfterIt) {
  Limits limits;
  limits.child_stdout_bytes = 10;
  AnswerReader reader(AnswerForm::document, limits);
  EXPECT_FALSE(reader.fault().has_value());
  reader.receive("12345678901");
  ASSERT_TRUE(reader.fault().has_value());
  EXPECT_EQ(reader.fault()->code, "stdout_limit");
  reader.receive(kDocument + "\n");
  EXPECT_EQ(outcome_of(reader.document()), "adapter/stdout_limit");
}

TEST(AnswerReaderEventsTest, IsTheResultOfTheTarget) {
  const auto reading = read(AnswerForm::events, whole_stream());
  ASSERT_EQ(reading.outcome, "ok");
  EXPECT_EQ(dump_json(reading.document), kDocument);
}

TEST(AnswerReaderEventsTest, TellsHowFarTheRunIs) {
  const Limits limits;
  AnswerReader reader(AnswerForm::events, limits);
  EXPECT_EQ(reader.selected(), 0U);
  EXPECT_TRUE(reader.run_id().is_null());
  EXPECT_TRUE(reader.execution_id().is_null());
  reader.receive(started(1, 3));
  EXPECT_EQ(reader.selected(), 3U);
  EXPECT_EQ(reader.run_id(), "r-1");
  EXPECT_EQ(reader.targets_finished(), 0U);
  const auto line = target_finished(2);
  reader.receive(line.substr(0, line.size() - 1));
  EXPECT_EQ(reader.targets_finished(), 0U) << "before its line was whole";
  reader.receive("\n");
  EXPECT_EQ(reader.targets_finished(), 1U);
  EXPECT_EQ(reader.execution_id(), "e-1");
}

TEST(AnswerReaderEventsTest, ARefusedRequestOrAPreviewIsOneDocument) {
  const auto reading = read(AnswerForm::events, kDocument + "\n");
  ASSERT_EQ(reading.outcome, "ok");
  EXPECT_EQ(dump_json(reading.document), kDocument);
  EXPECT_EQ(outcome(AnswerForm::events, kDocument), "adapter/truncated");
  EXPECT_EQ(outcome(AnswerForm::events, kDocument + "\n" + kDocument + "\n"), "adapter/malformed");
}

TEST(AnswerReaderEventsTest, ADocumentStandsNotBesideEvents) {
  EXPECT_EQ(outcome(AnswerForm::events, started(1) + kDocument + "\n" + event(2, "run_finished")),
            "adapter/malformed");
  EXPECT_EQ(outcome(AnswerForm::events, kDocument + "\n" + whole_stream()), "adapter/malformed");
  EXPECT_EQ(outcome(AnswerForm::events, kDocument + "\n" + event(1, "run_finished")),
            "adapter/malformed");
}

TEST(AnswerReaderEventsTest, BrokenOffAnywhereItIsNoResult) {
  const auto stream = whole_stream();
  const Limits limits;
  for (std::size_t size = 1; size < stream.size(); ++size) {
    const auto reading =
        read_in_pieces(AnswerForm::events, stream.substr(0, size), limits, stream.size());
    EXPECT_EQ(reading.outcome, "adapter/truncated") << "after " << size << " bytes";
  }
  EXPECT_EQ(outcome(AnswerForm::events, ""), "adapter/no_document");
}

TEST(AnswerReaderEventsTest, EventsComeInOrder) {
  for (const auto& stream : std::vector<std::string>{
           started(2) + target_finished(3) + event(4, "run_finished"),
           started(0) + target_finished(1) + event(2, "run_finished"),
           started(1) + target_finished(1) + event(2, "run_finished"),
           started(1) + target_finished(3) + event(4, "run_finished"),
           started(1) + event(3, "target_started") + target_finished(2) + event(4, "run_finished"),
           whole_stream() + event(5, "target_started"), whole_stream() + whole_stream(),
           whole_stream() + started(5)}) {
    EXPECT_EQ(outcome(AnswerForm::events, stream), "adapter/malformed") << stream;
  }
}

TEST(AnswerReaderEventsTest, ASequenceNumberIsANumber) {
  for (const std::string seq : {R"("1")", "null", "true", "[1]", "-1"}) {
    const auto line =
        R"({"schema_version":"sshx.event.v1","event":"run_started","seq":)" + seq + "}\n";
    EXPECT_EQ(outcome(AnswerForm::events, line), "adapter/malformed") << seq;
  }
  EXPECT_EQ(outcome(AnswerForm::events,
                    R"({"schema_version":"sshx.event.v1","event":"run_started"})"
                    "\n"),
            "adapter/malformed");
}

TEST(AnswerReaderEventsTest, EveryLineIsAnEvent) {
  for (const std::string line : {"\n", "x\n", "{}\n", "[]\n", "1\n", "\xff\xfe\n", "{\"a\":\n"}) {
    EXPECT_EQ(outcome(AnswerForm::events, line + whole_stream()), "adapter/malformed") << line;
    EXPECT_EQ(outcome(AnswerForm::events, whole_stream() + line), "adapter/malformed") << line;
  }
}

TEST(AnswerReaderEventsTest, AStreamWithoutExactlyOneResultIsMalformed) {
  EXPECT_EQ(outcome(AnswerForm::events, started(1) + event(2, "run_finished")),
            "adapter/malformed");
  EXPECT_EQ(outcome(AnswerForm::events, event(1, "run_finished")), "adapter/malformed");
  EXPECT_EQ(outcome(AnswerForm::events, started(1, 2) + target_finished(2) + target_finished(3) +
                                            event(4, "run_finished")),
            "adapter/malformed");
  for (const std::string result : {"null", "{}", "1", "[]", R"({"schema_version":7})"}) {
    EXPECT_EQ(outcome(AnswerForm::events,
                      started(1) + target_finished(2, result) + event(3, "run_finished")),
              "adapter/malformed")
        << result;
  }
}

TEST(AnswerReaderEventsTest, OddFieldsOfAnEventAreNoCrash) {
  const std::string odd =
      R"({"schema_version":"sshx.event.v1","seq":1,"event":7,"selected":"many"})"
      "\n";
  EXPECT_EQ(outcome(AnswerForm::events, odd + event(2, "run_finished")), "adapter/malformed");
  const auto negative = event(1, "run_started", R"(,"selected":-4)");
  const Limits limits;
  AnswerReader reader(AnswerForm::events, limits);
  reader.receive(negative);
  EXPECT_EQ(reader.selected(), 0U);
}

TEST(AnswerReaderEventsTest, AnIdThatIsNoTextIsNotTold) {
  const Limits limits;
  AnswerReader reader(AnswerForm::events, limits);
  reader.receive(
      R"({"schema_version":"sshx.event.v1","seq":1,"event":"x","run_id":5,"execution_id":[]})"
      "\n");
  EXPECT_TRUE(reader.run_id().is_null());
  EXPECT_TRUE(reader.execution_id().is_null());
}

TEST(AnswerReaderEventsTest, AnEventMayHaveAsManyBytesAsTheLimit) {
  const auto stream = whole_stream();
  const auto longest = target_finished(3).size() - 1;
  Limits limits;
  limits.event_bytes = longest;
  EXPECT_EQ(outcome(AnswerForm::events, stream, limits), "ok");
  limits.event_bytes = longest + 1;
  EXPECT_EQ(outcome(AnswerForm::events, stream, limits), "ok");
  limits.event_bytes = longest - 1;
  EXPECT_EQ(outcome(AnswerForm::events, stream, limits), "adapter/event_limit");
  EXPECT_EQ(outcome(AnswerForm::events, std::string(longest, 'x'), limits), "adapter/event_limit")
      << "also before its end has come";
}

TEST(AnswerReaderEventsTest, ThereMayBeAsManyEventsAsTheLimit) {
  Limits limits;
  limits.events = 4;
  EXPECT_EQ(outcome(AnswerForm::events, whole_stream(), limits), "ok");
  limits.events = 3;
  EXPECT_EQ(outcome(AnswerForm::events, whole_stream(), limits), "adapter/too_many_events");
}

TEST(AnswerReaderEventsTest, TheWholeStreamMayHaveAsManyBytesAsTheLimit) {
  Limits limits;
  limits.child_stdout_bytes = whole_stream().size();
  EXPECT_EQ(outcome(AnswerForm::events, whole_stream(), limits), "ok");
  --limits.child_stdout_bytes;
  EXPECT_EQ(outcome(AnswerForm::events, whole_stream(), limits), "adapter/stdout_limit");
}

}  // namespace
}  // namespace sshx::mcp
