#include <gmock/gmock.h>

#include "ssh/agent.h"
#include "unit/loop/scratch.h"
#include "unit/ssh/scripted_agent.h"
#include "unit/ssh/verify.h"

namespace sshx::ssh {
namespace {

using test::AgentPeer;
using test::answer_with;
using test::blob_of;
using test::identities_answer;
using test::kGuardSeconds;
using test::kShortSeconds;
using test::Loop;
using test::make_key;
using test::outcome_of;
using test::ScratchFolder;
using test::ScriptedAgent;
using test::some_ed25519;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kUnavailable = "auth/agent_unavailable";
constexpr const char* kRefused = "auth/agent_refused";

using AgentResult = Result<std::shared_ptr<Agent>>;

class AgentTest : public testing::Test {
 protected:
  AgentResult open(double seconds = kGuardSeconds) {
    return loop_.run(Agent::open(loop_.context(), socket(), after(seconds), loop_.cancellation()));
  }

  [[nodiscard]] std::string socket() const { return folder_.file("agent"); }

  [[nodiscard]] const ScratchFolder& folder() const { return folder_; }

  [[nodiscard]] Loop& loop() { return loop_; }

  /// What an agent that runs `script` once gives.
  std::string outcome_with(ScriptedAgent::Script script, double seconds = kGuardSeconds) {
    const ScriptedAgent agent(socket(), std::move(script));
    AgentResult opened = open(seconds);
    unlink(socket().c_str());
    return outcome_of(opened);
  }

 private:
  ScratchFolder folder_;
  Loop loop_;
};

class RealAgentTest : public AgentTest {
 protected:
  std::string add_key(const std::string& name, const test::KeyOptions& options = {}) {
    std::string path = folder().file(name);
    make_key(path, options);
    agent_.add(path);
    return path;
  }

 private:
  test::SshAgent agent_{socket()};
};

TEST_F(RealAgentTest, WithoutKeysHasNone) {
  AgentResult agent = open();
  ASSERT_EQ(outcome_of(agent), "ok");
  EXPECT_THAT((*agent)->signers(), IsEmpty());
}

TEST_F(RealAgentTest, GivesItsKeysInItsOrder) {
  std::vector<PublicKey> added;
  for (const std::string name : {"one", "two", "three"})
    added.push_back(test::public_key_in(add_key(name) + ".pub"));
  AgentResult agent = open();
  ASSERT_EQ(outcome_of(agent), "ok");
  std::vector<PublicKey> listed;
  for (const auto& signer : (*agent)->signers()) listed.push_back(signer->public_key());
  EXPECT_EQ(listed, added);
}

TEST_F(RealAgentTest, ASignersDescriptionHasTheKeysComment) {
  add_key("work-laptop");
  AgentResult agent = open();
  ASSERT_EQ(outcome_of(agent), "ok");
  ASSERT_EQ((*agent)->signers().size(), 1U);
  EXPECT_THAT((*agent)->signers()[0]->description(), HasSubstr("agent key"));
  EXPECT_THAT((*agent)->signers()[0]->description(), HasSubstr("work-laptop"));
}

struct Signing {
  test::KeyOptions options;
  std::vector<std::string> algorithms;
};

// B073
TEST_F(RealAgentTest, SignsWithEveryKindOfKey) {
  for (const Signing& signing :
       {Signing{{}, {"ssh-ed25519"}},
        Signing{{.type = "ecdsa", .bits = "256"}, {"ecdsa-sha2-nistp256"}},
        Signing{{.type = "ecdsa", .bits = "384"}, {"ecdsa-sha2-nistp384"}},
        Signing{{.type = "ecdsa", .bits = "521"}, {"ecdsa-sha2-nistp521"}},
        Signing{{.type = "rsa", .bits = "2048"}, {"rsa-sha2-256", "rsa-sha2-512"}}}) {
    const std::string path = add_key(signing.options.type + signing.options.bits, signing.options);
    AgentResult agent = open();
    ASSERT_EQ(outcome_of(agent), "ok");
    const auto signer = (*agent)->signers().back();
    const auto judge = test::openssl_public_key(path + ".pub");
    for (const std::string& algorithm : signing.algorithms) {
      auto signature = loop().run(signer->sign("some data", algorithm));
      ASSERT_EQ(outcome_of(signature), "ok") << algorithm;
      EXPECT_TRUE(test::verifies(judge.get(), "some data", algorithm, *signature)) << algorithm;
    }
  }
}

TEST_F(RealAgentTest, SignersKeepTheAgent) {
  const std::string path = add_key("id");
  std::shared_ptr<Signer> signer;
  {
    AgentResult agent = open();
    ASSERT_EQ(outcome_of(agent), "ok");
    signer = (*agent)->signers().at(0);
  }
  for (int i = 0; i < 3; ++i) {
    auto signature = loop().run(signer->sign("data", "ssh-ed25519"));
    ASSERT_EQ(outcome_of(signature), "ok");
  }
}

TEST_F(RealAgentTest, ALargeDocumentIsSigned) {
  const std::string path = add_key("id");
  AgentResult agent = open();
  ASSERT_EQ(outcome_of(agent), "ok");
  const std::string data(200000, 'd');
  auto signature = loop().run((*agent)->signers().at(0)->sign(data, "ssh-ed25519"));
  ASSERT_EQ(outcome_of(signature), "ok");
  const auto judge = test::openssl_public_key(path + ".pub");
  EXPECT_TRUE(test::verifies(judge.get(), data, "ssh-ed25519", *signature));
}

TEST_F(RealAgentTest, AKeyThatWasTakenAwayIsRefused) {
  add_key("id");
  AgentResult agent = open();
  ASSERT_EQ(outcome_of(agent), "ok");
  {
    const test::Variable variable("SSH_AUTH_SOCK", socket());
    test::run_program({"ssh-add", "-q", "-D"});
  }
  auto signature = loop().run((*agent)->signers().at(0)->sign("data", "ssh-ed25519"));
  EXPECT_EQ(outcome_of(signature), kRefused);
}

TEST_F(AgentTest, AMissingSocketIsUnavailable) {
  const AgentResult agent = open();
  ASSERT_EQ(outcome_of(agent), kUnavailable);
  EXPECT_THAT(agent.error().message, HasSubstr(socket()));
}

TEST_F(AgentTest, AFileIsNoAgent) {
  test::write_file(socket(), "text");
  EXPECT_EQ(outcome_of(open()), kUnavailable);
}

TEST_F(AgentTest, ASocketThatNobodyListensToIsUnavailable) {
  { const UniqueFd listener = test::listen_on(socket()); }
  EXPECT_EQ(outcome_of(open()), kUnavailable);
}

TEST_F(AgentTest, APathThatNoSocketCanHaveIsUnavailable) {
  const std::string path = folder().file(std::string(300, 'x'));
  for (const std::string& bad : {path, std::string()}) {
    const AgentResult agent =
        loop().run(Agent::open(loop().context(), bad, after(kGuardSeconds), loop().cancellation()));
    EXPECT_EQ(outcome_of(agent), kUnavailable) << bad.size();
  }
}

TEST_F(AgentTest, AsksForTheKeysOnce) {
  std::string asked;
  EXPECT_EQ(outcome_with([&asked](const AgentPeer& peer) {
              asked = peer.request();
              peer.message(identities_answer({}));
            }),
            "ok");
  EXPECT_EQ(asked, std::string(1, static_cast<char>(test::kRequestIdentities)));
}

TEST_F(AgentTest, AnAnswerInSingleBytesIsRead) {
  const std::string answer = identities_answer({{some_ed25519('k'), "comment"}});
  const ScriptedAgent scripted(socket(), [&answer](const AgentPeer& peer) {
    (void)peer.request();
    WireWriter writer;
    writer.string(answer);
    for (const char byte : writer.bytes()) peer.raw(std::string_view(&byte, 1));
  });
  AgentResult agent = open();
  ASSERT_EQ(outcome_of(agent), "ok");
  ASSERT_EQ((*agent)->signers().size(), 1U);
  EXPECT_EQ((*agent)->signers()[0]->public_key().blob, some_ed25519('k'));
}

TEST_F(AgentTest, KeysOfUnknownTypesAreSkipped) {
  const std::string answer =
      identities_answer({{blob_of({"ssh-unknown@example.com", "x"}), "unknown"},
                         {some_ed25519('a'), "first"},
                         {blob_of({"ssh-dss", "p", "q", "g", "y"}), "dsa"},
                         {"", "empty"},
                         {std::string("\xff\xff\xff\xff", 4), "broken"},
                         {some_ed25519('b'), "second"}});
  const ScriptedAgent scripted(socket(), [&answer](const AgentPeer& peer) {
    (void)peer.request();
    peer.message(answer);
  });
  AgentResult agent = open();
  ASSERT_EQ(outcome_of(agent), "ok");
  std::vector<std::string> blobs;
  for (const auto& signer : (*agent)->signers()) blobs.push_back(signer->public_key().blob);
  EXPECT_THAT(blobs, ElementsAre(some_ed25519('a'), some_ed25519('b')));
}

TEST_F(AgentTest, AnyOtherAnswerThanTheKeysIsUnavailable) {
  const std::vector<std::string> answers{
      std::string(1, static_cast<char>(test::kAgentFailure)),
      std::string(1, static_cast<char>(test::kSignResponse)), std::string(1, '\x63'), std::string(),
      std::string(1, static_cast<char>(test::kIdentitiesAnswer)), std::string("\x0c\x00\x00", 3),
      // Says more keys than there are.
      std::string("\x0c\x00\x00\x00\x01", 5), std::string("\x0c\xff\xff\xff\xff", 5),
      std::string("\x0c\x00\x00\x00\x01\x00\x00\x00\x09short", 14)};
  for (const std::string& answer : answers)
    EXPECT_EQ(outcome_with([&answer](const AgentPeer& peer) {
                (void)peer.request();
                peer.message(answer);
                (void)peer.request();
              }),
              kUnavailable)
        << testing::PrintToString(answer);
}

TEST_F(AgentTest, AHugeLengthIsRefusedAtOnce) {
  for (const std::string length : {"\xff\xff\xff\xff", "\x7f\xff\xff\xff", "\x10\x00\x00\x00"})
    EXPECT_EQ(outcome_with([&length](const AgentPeer& peer) {
                (void)peer.request();
                std::string four = length;
                four.resize(4, '\0');
                peer.raw(four + "\x0c");
                (void)peer.request();
              }),
              kUnavailable);
}

TEST_F(AgentTest, AnEarlyCloseIsUnavailable) {
  EXPECT_EQ(outcome_with([](const AgentPeer&) {}), kUnavailable);
  EXPECT_EQ(outcome_with([](const AgentPeer& peer) { (void)peer.request(); }), kUnavailable);
  for (std::size_t count = 1; count < 12; ++count)
    EXPECT_EQ(outcome_with([count](const AgentPeer& peer) {
                (void)peer.request();
                WireWriter writer;
                writer.string(identities_answer({{some_ed25519('k'), "comment"}}));
                peer.raw(writer.bytes().substr(0, count));
              }),
              kUnavailable)
        << count;
}

TEST_F(AgentTest, SilenceEndsAtTheDeadline) {
  EXPECT_EQ(outcome_with([](const AgentPeer& peer) { peer.stay_silent(); }, kShortSeconds),
            kUnavailable);
  EXPECT_EQ(outcome_with(
                [](const AgentPeer& peer) {
                  (void)peer.request();
                  peer.raw(std::string("\x00\x00", 2));
                  peer.stay_silent();
                },
                kShortSeconds),
            kUnavailable);
}

TEST_F(AgentTest, ACancellationEndsTheWait) {
  const ScriptedAgent agent(socket(), [](const AgentPeer& peer) { peer.stay_silent(); });
  asio::post(loop().context(), [this] { loop().cancellation().request("SIGINT"); });
  EXPECT_EQ(outcome_of(open()), "cancelled/signal");
}

TEST_F(AgentTest, ACancellationBeforeTheStartCounts) {
  const ScriptedAgent agent(socket(), [](const AgentPeer& peer) { peer.stay_silent(); });
  loop().cancellation().request("SIGINT");
  EXPECT_EQ(outcome_of(open()), "cancelled/signal");
}

/// An agent with one key, whose answer to the second request is the test's.
class SignTest : public AgentTest {
 protected:
  Result<std::string> sign(std::string blob, const std::string& algorithm,
                           const std::function<void(const AgentPeer&)>& answer,
                           double seconds = kGuardSeconds) {
    const ScriptedAgent agent(socket(), [&](const AgentPeer& peer) {
      if (peer.request().empty()) return;
      peer.message(identities_answer({{blob, "comment"}}));
      request_ = peer.request();
      answer(peer);
    });
    AgentResult opened = open(seconds);
    unlink(socket().c_str());
    EXPECT_EQ(outcome_of(opened), "ok");
    if (!opened.has_value()) return opened.error();
    return loop().run((*opened)->signers().at(0)->sign("the data", algorithm));
  }

  Result<std::string> sign_answered(const std::string& body) {
    return sign(some_ed25519('k'), "ssh-ed25519", [&body](const AgentPeer& peer) {
      peer.message(body);
      (void)peer.request();
    });
  }

  [[nodiscard]] const std::string& request() const { return request_; }

 private:
  std::string request_;
};

const std::string kRsaBlob = blob_of({"ssh-rsa", "\x01\x00\x01", std::string(257, 'n')});

TEST_F(SignTest, TheRequestNamesKeyDataAndHash) {
  struct Case {
    std::string blob;
    std::string algorithm;
    std::uint32_t flags;
  };

  for (const Case& one : {Case{some_ed25519('k'), "ssh-ed25519", 0},
                          Case{kRsaBlob, "rsa-sha2-256", 2}, Case{kRsaBlob, "rsa-sha2-512", 4}}) {
    const std::string signature = blob_of({one.algorithm, "signature"});
    auto result = sign(one.blob, one.algorithm, [&signature](const AgentPeer& peer) {
      peer.message(answer_with(test::kSignResponse, signature));
    });
    ASSERT_EQ(outcome_of(result), "ok") << one.algorithm;
    EXPECT_EQ(*result, signature);
    WireReader reader(request());
    EXPECT_EQ(reader.byte().value_or(0), test::kSignRequest);
    EXPECT_EQ(reader.string().value_or(""), one.blob);
    EXPECT_EQ(reader.string().value_or(""), "the data");
    EXPECT_EQ(reader.uint32().value_or(99), one.flags) << one.algorithm;
    EXPECT_TRUE(reader.rest().empty());
  }
}

TEST_F(SignTest, AFailureIsARefusal) {
  const auto result = sign_answered(std::string(1, static_cast<char>(test::kAgentFailure)));
  ASSERT_EQ(outcome_of(result), kRefused);
  EXPECT_THAT(result.error().message, HasSubstr(socket()));
}

TEST_F(SignTest, AnAnswerThatIsNoneIsAnError) {
  const std::string good = answer_with(test::kSignResponse, blob_of({"ssh-ed25519", "s"}));
  for (const std::string& body : {std::string(), std::string(1, '\x63'), identities_answer({}),
                                  std::string(1, static_cast<char>(test::kSignResponse)),
                                  good.substr(0, good.size() - 1), good.substr(0, 4)})
    EXPECT_THAT(outcome_of(sign_answered(body)), AnyOf(kUnavailable, kRefused))
        << testing::PrintToString(body);
}

TEST_F(SignTest, AnAgentThatGoesAwayIsUnavailable) {
  EXPECT_EQ(outcome_of(sign(some_ed25519('k'), "ssh-ed25519", [](const AgentPeer&) {})),
            kUnavailable);
}

TEST_F(SignTest, SilenceEndsAtTheDeadline) {
  EXPECT_EQ(
      outcome_of(sign(
          some_ed25519('k'), "ssh-ed25519", [](const AgentPeer& peer) { peer.stay_silent(); }, 3)),
      kUnavailable);
}

TEST_F(SignTest, ACancellationEndsTheWait) {
  const ScriptedAgent agent(socket(), [](const AgentPeer& peer) {
    (void)peer.request();
    peer.message(identities_answer({{some_ed25519('k'), "comment"}}));
    peer.stay_silent();
  });
  AgentResult opened = open();
  ASSERT_EQ(outcome_of(opened), "ok");
  asio::post(loop().context(), [this] { loop().cancellation().request("SIGTERM"); });
  EXPECT_EQ(outcome_of(loop().run((*opened)->signers().at(0)->sign("data", "ssh-ed25519"))),
            "cancelled/signal");
}

}  // namespace
}  // namespace sshx::ssh
