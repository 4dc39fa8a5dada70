#include <gmock/gmock.h>

#include "exec/identities.h"
#include "unit/exec/samples.h"
#include "unit/ssh/scripted_agent.h"
#include "unit/ssh/verify.h"

namespace sshx::exec {
namespace {

using test::checked_run;
using test::kGuardSeconds;
using test::kShortSeconds;
using test::Loop;
using test::make_key;
using test::outcome_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Signers = Result<std::vector<std::shared_ptr<ssh::Signer>>>;

IdentityChoice file_choice(const std::string& file) { return {.file = file, .agent_socket = {}}; }

/// A home of its own, without an agent until the test makes one.
class IdentitiesTest : public testing::Test {
 protected:
  IdentitiesTest() { std::filesystem::create_directories(folder_.path() / ".ssh"); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.file(".ssh/" + name);
  }

  std::string key(const std::string& name, const test::KeyOptions& options = {}) const {
    make_key(path(name), options);
    return path(name);
  }

  [[nodiscard]] std::string socket() const { return folder_.file("agent"); }

  Signers open(const IdentityChoice& choice, double seconds = kGuardSeconds) {
    PrivateKeys keys;
    return loop_.run(open_identities(loop_.runtime(), choice, keys, after(seconds)));
  }

  /// The names of the keys that would be offered, in order; or the one "kind/code" of the error.
  std::vector<std::string> offered(const IdentityChoice& choice) {
    const Signers signers = open(choice);
    if (!signers.has_value()) return {outcome_of(signers)};
    std::vector<std::string> names;
    for (const auto& signer : *signers) names.push_back(name_of(signer->public_key()));
    return names;
  }

  [[nodiscard]] Loop& loop() { return loop_; }

  [[nodiscard]] const test::ScratchFolder& folder() const { return folder_; }

 private:
  [[nodiscard]] std::string name_of(const PublicKey& key) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / ".ssh"))
      if (entry.path().extension() == ".pub" && test::public_key_in(entry.path()) == key)
        return entry.path().stem();
    return "?";
  }

  test::ScratchFolder folder_;
  test::Variable home_{"HOME", folder_.path().string()};
  test::Variable no_agent_{"SSH_AUTH_SOCK", std::nullopt};
  Loop loop_;
};

IdentityChoice chosen(const Json& request, const std::string& identity) {
  Target target = test::web_target();
  target.identity = identity;
  auto choice = choose_identities(checked_run(request), target);
  EXPECT_EQ(outcome_of(choice), "ok");
  return choice.has_value() ? *choice : IdentityChoice();
}

/// The same with a real agent.
class AgentIdentitiesTest : public IdentitiesTest {
 protected:
  void add(const std::string& name) const { agent_.add(path(name)); }

  /// A key that is in the agent and nowhere else but for its public half.
  void only_in_agent(const std::string& name) const {
    key(name);
    add(name);
    std::filesystem::remove(path(name));
  }

  [[nodiscard]] IdentityChoice with_agent(const std::string& file = {}) const {
    return {.file = file, .agent_socket = socket()};
  }

 private:
  test::SshAgent agent_{socket()};
};

TEST_F(IdentitiesTest, AFileIsReadOnceARun) {
  PrivateKeys keys;
  const auto missing = keys.load(path("a"));
  EXPECT_FALSE(missing.has_value());
  const auto first = keys.load(key("b"));
  std::filesystem::remove(path("b"));
  EXPECT_EQ(*keys.load(path("b")), *first);
  (void)key("a");
  EXPECT_EQ(keys.load(path("a")).error().code, missing.error().code);
}

TEST_F(IdentitiesTest, AConfiguredFileIsOffered) {
  EXPECT_THAT(offered(file_choice(key("work"))), ElementsAre("work"));
}

TEST_F(AgentIdentitiesTest, TheConfiguredFileComesFirst) {
  for (const std::string name : {"a", "b", "c"}) only_in_agent(name);
  EXPECT_THAT(offered(with_agent(key("work"))), ElementsAre("work", "a", "b", "c"));
}

TEST_F(AgentIdentitiesTest, NoKeyIsOfferedTwice) {
  only_in_agent("a");
  const std::string file = key("work");
  add("work");
  only_in_agent("c");
  EXPECT_THAT(offered(with_agent(file)), ElementsAre("work", "a", "c"));
}

// B070: servers end a session after a few failures.
TEST_F(AgentIdentitiesTest, TheBudgetIsSix) {
  EXPECT_EQ(kKeyBudget, 6U);
  for (int i = 0; i < 12; ++i) only_in_agent("agent" + std::to_string(i));
  EXPECT_THAT(offered(with_agent(key("work"))),
              ElementsAre("work", "agent0", "agent1", "agent2", "agent3", "agent4"));
  EXPECT_THAT(offered(with_agent()),
              ElementsAre("agent0", "agent1", "agent2", "agent3", "agent4", "agent5"));
}

// B070: the eleventh key of twelve, by its public half.
TEST_F(AgentIdentitiesTest, AConfiguredKeyOfTheAgentIsFoundBehindTheBudget) {
  for (int i = 0; i < 12; ++i) only_in_agent("agent" + std::to_string(i));
  const auto names = offered(with_agent(path("agent10")));
  ASSERT_EQ(names.size(), kKeyBudget);
  EXPECT_EQ(names[0], "agent10");
  IdentityChoice only = with_agent(path("agent10"));
  only.only = true;
  EXPECT_THAT(offered(only), ElementsAre("agent10"));
}

// Design §6: a missing private file with its .pub present is fine if the agent has the key.
TEST_F(AgentIdentitiesTest, APublicHalfFindsItsKeyInTheAgent) {
  only_in_agent("a");
  only_in_agent("work");
  EXPECT_THAT(offered(with_agent(path("work"))), ElementsAre("work", "a"));
}

TEST_F(AgentIdentitiesTest, AnEncryptedKeyIsUsedThroughTheAgent) {
  only_in_agent("a");
  const std::string file = key("work");
  add("work");
  test::run_program({"ssh-keygen", "-q", "-p", "-N", "passphrase", "-f", file});
  EXPECT_THAT(offered(with_agent(file)), ElementsAre("work", "a"));
  const Signers signers = open(with_agent(file));
  ASSERT_EQ(outcome_of(signers), "ok");
  auto signature = loop().run((*signers)[0]->sign("data", "ssh-ed25519"));
  ASSERT_EQ(outcome_of(signature), "ok");
  const auto judge = test::openssl_public_key(file + ".pub");
  EXPECT_TRUE(test::verifies(judge.get(), "data", "ssh-ed25519", *signature));
}

TEST_F(AgentIdentitiesTest, AnEncryptedKeyThatTheAgentHasNotIsToldApart) {
  only_in_agent("a");
  EXPECT_THAT(offered(with_agent(key("work", {.passphrase = "passphrase"}))),
              ElementsAre("auth/identity_encrypted"));
}

TEST_F(AgentIdentitiesTest, AMissingKeyThatTheAgentHasNotIsMissing) {
  only_in_agent("a");
  const std::string file = key("work");
  std::filesystem::remove(file);
  EXPECT_THAT(offered(with_agent(file)), ElementsAre("auth/identity_missing"));
  EXPECT_THAT(offered(with_agent(path("nothing"))), ElementsAre("auth/identity_missing"));
}

TEST_F(AgentIdentitiesTest, OnlyMeansTheConfiguredKeyAlone) {
  only_in_agent("a");
  IdentityChoice choice = with_agent(key("work"));
  choice.only = true;
  EXPECT_THAT(offered(choice), ElementsAre("work"));
  only_in_agent("other");
  choice.file = path("other");
  EXPECT_THAT(offered(choice), ElementsAre("other"));
}

TEST_F(AgentIdentitiesTest, WithoutAConfiguredKeyTheAgentComesBeforeTheDefaultFiles) {
  only_in_agent("a");
  key("id_ed25519");
  key("id_rsa", {.type = "rsa", .bits = "2048"});
  key("not-a-default");
  const auto names = offered(with_agent());
  ASSERT_EQ(names.size(), 3U);
  EXPECT_EQ(names[0], "a");
  EXPECT_THAT(names, testing::UnorderedElementsAre("a", "id_ed25519", "id_rsa"));
}

TEST_F(IdentitiesTest, WithoutAnAgentTheDefaultFilesAreOffered) {
  key("id_ed25519");
  key("id_ecdsa", {.type = "ecdsa", .bits = "256"});
  key("id_rsa", {.type = "rsa", .bits = "2048"});
  EXPECT_THAT(offered(IdentityChoice()),
              testing::UnorderedElementsAre("id_ed25519", "id_ecdsa", "id_rsa"));
}

TEST_F(IdentitiesTest, AConfiguredKeyLeavesTheDefaultFilesAlone) {
  key("id_ed25519");
  EXPECT_THAT(offered(file_choice(key("work"))), ElementsAre("work"));
}

TEST_F(IdentitiesTest, NothingAtAllIsToldApart) {
  const Signers signers = open(IdentityChoice());
  ASSERT_EQ(outcome_of(signers), "auth/no_identity");
  EXPECT_FALSE(signers.error().hint.empty());
}

// An MCP client's or a cron job's environment names no agent, and nobody thinks of that.
TEST_F(IdentitiesTest, AnEnvironmentWithoutAnAgentIsExplained) {
  const auto unset = chosen(Json::object(), "");
  ASSERT_TRUE(unset.agent_unset);
  EXPECT_THAT(open(unset).error().hint, HasSubstr("SSH_AUTH_SOCK is not set"));
  const auto encrypted = chosen(Json::object(), key("encrypted", {.passphrase = "passphrase"}));
  const auto refused = open(encrypted);
  ASSERT_EQ(outcome_of(refused), "auth/identity_encrypted");
  EXPECT_THAT(refused.error().hint, HasSubstr("SSH_AUTH_SOCK is not set"));
  const auto missing = open(chosen(Json::object(), path("missing")));
  EXPECT_THAT(missing.error().hint, testing::Not(HasSubstr("SSH_AUTH_SOCK is not set")));
}

TEST_F(AgentIdentitiesTest, AnEmptyAgentIsNotExplainedByTheEnvironment) {
  const test::Variable variable("SSH_AUTH_SOCK", socket());
  const auto choice = chosen(Json::object(), "");
  EXPECT_FALSE(choice.agent_unset);
  const auto refused = open(choice);
  ASSERT_EQ(outcome_of(refused), "auth/no_identity");
  EXPECT_THAT(refused.error().hint, HasSubstr("ssh-add"));
  EXPECT_FALSE(chosen({{"identity_agent", "none"}}, "").agent_unset);
}

TEST_F(AgentIdentitiesTest, AnEmptyAgentIsNothing) {
  EXPECT_THAT(offered(with_agent()), ElementsAre("auth/no_identity"));
}

// B071: four files, four codes.
TEST_F(IdentitiesTest, EachLocalFaultHasItsOwnCode) {
  EXPECT_THAT(offered(file_choice(path("missing"))), ElementsAre("auth/identity_missing"));
  EXPECT_THAT(offered(file_choice(key("encrypted", {.passphrase = "passphrase"}))),
              ElementsAre("auth/identity_encrypted"));
  test::write_file(path("garbage"), "root:x:0:0:root:/root:/bin/bash\n");
  EXPECT_THAT(offered(file_choice(path("garbage"))), ElementsAre("auth/identity_format"));
  const std::string open_file = key("open");
  ASSERT_EQ(chmod(open_file.c_str(), 0644), 0);
  EXPECT_THAT(offered(file_choice(open_file)), ElementsAre("auth/identity_permission"));
}

// What the caller must repair is told, even when the agent could stand in.
TEST_F(AgentIdentitiesTest, FaultsOfTheConfiguredFileAreNotHiddenByTheAgent) {
  only_in_agent("a");
  test::write_file(path("garbage"), "not a key\n");
  EXPECT_THAT(offered(with_agent(path("garbage"))), ElementsAre("auth/identity_format"));
  const std::string open_file = key("open");
  ASSERT_EQ(chmod(open_file.c_str(), 0644), 0);
  EXPECT_THAT(offered(with_agent(open_file)), ElementsAre("auth/identity_permission"));
}

TEST_F(IdentitiesTest, AnAgentThatWasAskedForMustBeThere) {
  IdentityChoice choice{.file = key("work"), .agent_socket = socket(), .agent_required = true};
  EXPECT_THAT(offered(choice), ElementsAre("auth/agent_unavailable"));
  choice.agent_required = false;
  EXPECT_THAT(offered(choice), ElementsAre("work"));
  choice.file.clear();
  EXPECT_THAT(offered(choice), ElementsAre("auth/no_identity"));
}

TEST_F(IdentitiesTest, ASilentAgentIsGivenUpAtTheDeadline) {
  const test::ScriptedAgent agent(socket(),
                                  [](const test::AgentPeer& peer) { peer.stay_silent(); });
  const IdentityChoice choice{.file = {}, .agent_socket = socket(), .agent_required = true};
  EXPECT_EQ(outcome_of(open(choice, kShortSeconds)), "auth/agent_unavailable");
}

TEST_F(IdentitiesTest, ACancellationEndsTheWaitForAnAgent) {
  const test::ScriptedAgent agent(socket(),
                                  [](const test::AgentPeer& peer) { peer.stay_silent(); });
  asio::post(loop().context(), [this] { loop().cancellation().request("SIGINT"); });
  EXPECT_EQ(outcome_of(open({.file = {}, .agent_socket = socket()})), "cancelled/signal");
}

TEST_F(IdentitiesTest, AChoiceIsWhatIsConfigured) {
  const IdentityChoice bare = chosen(Json::object(), "");
  EXPECT_EQ(bare.file, "");
  EXPECT_EQ(bare.agent_socket, "");
  EXPECT_FALSE(bare.only);
  EXPECT_FALSE(bare.agent_required);
  EXPECT_EQ(chosen(Json::object(), "~/.ssh/work").file, path("work"));
  EXPECT_EQ(chosen(Json::object(), "/keys/work").file, "/keys/work");
  EXPECT_TRUE(chosen({{"identities_only", true}}, "/keys/work").only);
}

TEST_F(IdentitiesTest, TheAgentIsTheEnvironmentsUnlessTheRequestNamesOne) {
  const test::Variable variable("SSH_AUTH_SOCK", "/run/from-environment");
  EXPECT_EQ(chosen(Json::object(), "").agent_socket, "/run/from-environment");
  EXPECT_FALSE(chosen(Json::object(), "").agent_required);
  const IdentityChoice named = chosen({{"identity_agent", "/run/named"}}, "");
  EXPECT_EQ(named.agent_socket, "/run/named");
  EXPECT_TRUE(named.agent_required);
  EXPECT_EQ(chosen({{"identity_agent", "~/agent"}}, "").agent_socket, folder().file("agent"));
  const IdentityChoice none = chosen({{"identity_agent", "none"}}, "");
  EXPECT_EQ(none.agent_socket, "");
  EXPECT_FALSE(none.agent_required);
}

TEST_F(IdentitiesTest, AnEmptyAgentVariableIsNoAgent) {
  const test::Variable variable("SSH_AUTH_SOCK", "");
  EXPECT_EQ(chosen(Json::object(), "").agent_socket, "");
}

TEST_F(IdentitiesTest, OnlyNeedsAConfiguredKey) {
  Target target = test::web_target();
  EXPECT_EQ(outcome_of(choose_identities(checked_run({{"identities_only", true}}), target)),
            "config/request_conflict");
}

TEST_F(IdentitiesTest, APublicIdentityIsReadFromThePublicHalf) {
  const std::string file = key("work");
  const PublicIdentity identity = public_identity({.file = file, .agent_socket = socket()});
  EXPECT_EQ(identity.kind, "file");
  EXPECT_EQ(identity.path, file);
  EXPECT_EQ(identity.fingerprint, fingerprint(test::public_key_in(file + ".pub")));
}

TEST_F(IdentitiesTest, APublicIdentityOpensNoPrivateKey) {
  const std::string file = key("work");
  std::filesystem::remove(file);
  EXPECT_TRUE(public_identity(file_choice(file)).fingerprint.has_value());
  key("alone");
  std::filesystem::remove(path("alone.pub"));
  const PublicIdentity alone = public_identity(file_choice(path("alone")));
  EXPECT_EQ(alone.kind, "file");
  EXPECT_EQ(alone.path, path("alone"));
  EXPECT_EQ(alone.fingerprint, std::nullopt);
}

TEST_F(IdentitiesTest, ABadPublicHalfIsNoFingerprint) {
  for (const std::string text : {"", "garbage", "ssh-ed25519", "ssh-ed25519 !!!"}) {
    test::write_file(path("bad.pub"), text);
    EXPECT_EQ(public_identity(file_choice(path("bad"))).fingerprint, std::nullopt) << text;
  }
}

TEST_F(IdentitiesTest, APublicIdentityWithoutAFile) {
  const PublicIdentity agent = public_identity({.file = {}, .agent_socket = socket()});
  EXPECT_EQ(agent.kind, "agent");
  EXPECT_EQ(agent.path, std::nullopt);
  EXPECT_EQ(agent.fingerprint, std::nullopt);
  EXPECT_EQ(public_identity(IdentityChoice()).kind, "none");
}

}  // namespace
}  // namespace sshx::exec
