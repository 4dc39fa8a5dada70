#include <gmock/gmock.h>

#include "core/paths.h"
#include "exec/trust.h"
#include "unit/exec/samples.h"
#include "unit/ssh/scripted_agent.h"

namespace sshx::exec {
namespace {

using test::blob_of;
using test::checked_run;
using test::outcome_of;
using test::some_ed25519;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

PublicKey ed25519(char filler) { return {.type = "ssh-ed25519", .blob = some_ed25519(filler)}; }

PublicKey ecdsa(char filler) {
  const std::string type = "ecdsa-sha2-nistp256";
  return {.type = type, .blob = blob_of({type, "nistp256", "\x04" + std::string(64, filler)})};
}

std::string line(const std::string& names, const PublicKey& key) {
  return names + " " + public_key_text(key) + "\n";
}

const std::string kName = "[192.0.2.5]:2222";

class TrustTest : public testing::Test {
 protected:
  [[nodiscard]] Trust trust_of(const std::string& known_hosts,
                               HostKeyStrictness strictness = HostKeyStrictness::strict) const {
    test::write_file(file(), known_hosts);
    return {
        .known_hosts = test::known_hosts_in(file()), .user_file = file(), .strictness = strictness};
  }

  [[nodiscard]] std::string file() const { return folder_.file("known_hosts"); }

  [[nodiscard]] const test::ScratchFolder& folder() const { return folder_; }

  /// What the policy says of `key`; its warnings are in `warnings()` afterwards.
  Status judge(const Trust& trust, const PublicKey& key,
               const Target& target = test::web_target()) {
    warnings_.clear();
    return host_key_policy(trust, target, warnings_).check(key);
  }

  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  test::ScratchFolder folder_;
  std::vector<std::string> warnings_;
};

struct Row {
  std::string name;
  std::string known_hosts;
  std::string strict;
  std::string accept_unknown;
  std::string insecure;
};

/// What each way of judging says of the key ed25519('k').
class VerdictTest : public TrustTest, public testing::WithParamInterface<Row> {};

TEST_P(VerdictTest, UnderEachStrictness) {
  const Row& row = GetParam();
  for (const auto& [strictness, expected] :
       {std::pair{HostKeyStrictness::strict, row.strict},
        std::pair{HostKeyStrictness::accept_unknown, row.accept_unknown},
        std::pair{HostKeyStrictness::insecure, row.insecure}}) {
    const Trust trust = trust_of(row.known_hosts, strictness);
    const Status status = judge(trust, ed25519('k'));
    EXPECT_EQ(outcome_of(status), expected) << to_string(strictness);
    // Relaxed judgement that mattered is loud.
    if (expected == "ok" && row.strict != "ok") {
      EXPECT_THAT(warnings(), Not(IsEmpty())) << to_string(strictness);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, VerdictTest,
    testing::Values(
        Row{"Ok", line(kName, ed25519('k')), "ok", "ok", "ok"},
        Row{"OkBesideOthers", line(kName, ecdsa('e')) + line(kName, ed25519('k')), "ok", "ok",
            "ok"},
        Row{"Unknown", "", "host_key/unknown", "ok", "ok"},
        Row{"OtherHostsKey", line("[192.0.2.6]:2222", ed25519('k')), "host_key/unknown", "ok",
            "ok"},
        Row{"Changed", line(kName, ed25519('x')), "host_key/changed", "host_key/changed", "ok"},
        Row{"OtherType", line(kName, ecdsa('e')), "host_key/other_type", "host_key/other_type",
            "ok"},
        Row{"Revoked", line("@revoked " + kName, ed25519('k')), "host_key/revoked",
            "host_key/revoked", "host_key/revoked"},
        Row{"RevokedThoughStored", line(kName, ed25519('k')) + line("@revoked *", ed25519('k')),
            "host_key/revoked", "host_key/revoked", "host_key/revoked"},
        Row{"OnlyAnAuthority", line("@cert-authority *", ed25519('k')), "host_key/unknown", "ok",
            "ok"}),
    [](const auto& instance) { return instance.param.name; });

TEST_F(TrustTest, AnAcceptedKeyIsQuiet) {
  (void)judge(trust_of(line(kName, ed25519('k'))), ed25519('k'));
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(TrustTest, RelaxedCheckingIsLoudInPlainWords) {
  for (const auto strictness : {HostKeyStrictness::accept_unknown, HostKeyStrictness::insecure}) {
    const Trust trust = trust_of("", strictness);
    ASSERT_EQ(outcome_of(judge(trust, ed25519('k'))), "ok");
    ASSERT_THAT(warnings(), Not(IsEmpty()));
    EXPECT_THAT(warnings()[0], HasSubstr("192.0.2.5"));
  }
}

TEST_F(TrustTest, RelaxedCheckingRecordsNothing) {
  const Trust trust = trust_of("", HostKeyStrictness::accept_unknown);
  (void)judge(trust, ed25519('k'));
  EXPECT_EQ(test::read_text(file()), "");
}

// B067: the refusal gives the fingerprint and the exact command.
TEST_F(TrustTest, AnUnknownHostsHintIsTheCommandThatTrustsIt) {
  const Trust trust = trust_of("");
  const Status status = judge(trust, ed25519('k'));
  ASSERT_EQ(outcome_of(status), "host_key/unknown");
  EXPECT_THAT(status.error().message, HasSubstr("192.0.2.5"));
  EXPECT_THAT(status.error().message + status.error().hint, HasSubstr(fingerprint(ed25519('k'))));
  EXPECT_THAT(status.error().hint, HasSubstr("sshx host trust web-1"));
}

TEST_F(TrustTest, AnAddressWithoutANameGetsAHintToo) {
  Target target = test::web_target();
  target.alias = std::nullopt;
  const Trust trust = trust_of("");
  const Status status = judge(trust, ed25519('k'), target);
  ASSERT_EQ(outcome_of(status), "host_key/unknown");
  EXPECT_THAT(status.error().hint, HasSubstr("sshx host add"));
  EXPECT_THAT(status.error().hint, HasSubstr("sshx host trust"));
  EXPECT_THAT(status.error().hint, Not(HasSubstr("web-1")));
}

TEST_F(TrustTest, AChangedKeysHintIsTheCommandThatRemovesTheOld) {
  const Trust trust = trust_of(line(kName, ed25519('x')));
  const Status status = judge(trust, ed25519('k'));
  ASSERT_EQ(outcome_of(status), "host_key/changed");
  EXPECT_THAT(status.error().message, HasSubstr(fingerprint(ed25519('k'))));
  EXPECT_THAT(status.error().hint, HasSubstr("ssh-keygen -R '[192.0.2.5]:2222'"));
  EXPECT_THAT(status.error().hint, HasSubstr("sshx host trust web-1"));
}

// The user's own file is what the commands mean without being told.
TEST_F(TrustTest, ANamedFileIsPartOfTheCommands) {
  const Status unknown = judge(trust_of(""), ed25519('k'));
  ASSERT_EQ(outcome_of(unknown), "host_key/unknown");
  EXPECT_THAT(unknown.error().hint, testing::ContainsRegex("--known-hosts '?" + file()));
  const Status changed = judge(trust_of(line(kName, ed25519('x'))), ed25519('k'));
  ASSERT_EQ(outcome_of(changed), "host_key/changed");
  EXPECT_THAT(changed.error().hint, testing::ContainsRegex("-f '?" + file()));
}

TEST_F(TrustTest, AnotherTypesHintNamesWhatIsStored) {
  const Trust trust = trust_of(line(kName, ecdsa('e')));
  const Status status = judge(trust, ed25519('k'));
  ASSERT_EQ(outcome_of(status), "host_key/other_type");
  EXPECT_THAT(status.error().message + status.error().hint, HasSubstr("ecdsa-sha2-nistp256"));
  EXPECT_THAT(status.error().message + status.error().hint, HasSubstr("ssh-ed25519"));
  EXPECT_THAT(status.error().hint, HasSubstr("sshx host trust web-1"));
}

TEST_F(TrustTest, ARevokedKeyHasNoWayAround) {
  const Trust trust = trust_of(line("@revoked *", ed25519('k')));
  const Status status = judge(trust, ed25519('k'));
  ASSERT_EQ(outcome_of(status), "host_key/revoked");
  EXPECT_FALSE(status.error().hint.empty());
  EXPECT_THAT(status.error().hint, Not(HasSubstr("sshx host trust")));
}

// B076
TEST_F(TrustTest, AnAuthorityAloneIsExplained) {
  const Trust trust = trust_of(line("@cert-authority *", ed25519('c')));
  const Status status = judge(trust, ed25519('k'));
  ASSERT_EQ(outcome_of(status), "host_key/unknown");
  EXPECT_THAT(status.error().message + status.error().hint, HasSubstr("@cert-authority"));
}

// B060: a stored key is the one that is asked for.
TEST_F(TrustTest, StoredTypesAreAskedForFirst) {
  const Trust trust = trust_of(line(kName, ecdsa('e')) + line(kName, ed25519('k')) +
                               line("@revoked " + kName, ed25519('z')));
  std::vector<std::string> warnings;
  const auto policy = host_key_policy(trust, test::web_target(), warnings);
  EXPECT_THAT(policy.preferred_types, testing::ElementsAre("ecdsa-sha2-nistp256", "ssh-ed25519"));
  EXPECT_FALSE(policy.preferred_only);
}

TEST_F(TrustTest, WithoutStoredKeysNothingIsPreferred) {
  const Trust trust = trust_of("");
  std::vector<std::string> warnings;
  EXPECT_THAT(host_key_policy(trust, test::web_target(), warnings).preferred_types, IsEmpty());
}

class LoadTrustTest : public TrustTest {
 protected:
  LoadTrustTest() {
    std::filesystem::create_directories(folder().path() / ".ssh");
    test::write_file(folder().path() / ".ssh" / "known_hosts", line("home", ed25519('h')));
  }

 private:
  test::Variable home_{"HOME", folder().path().string()};
};

TEST_F(LoadTrustTest, ReadsTheUsersFile) {
  const auto trust = load_trust(checked_run(Json::object()));
  ASSERT_EQ(outcome_of(trust), "ok");
  EXPECT_EQ(trust->user_file, folder().path() / ".ssh" / "known_hosts");
  EXPECT_EQ(trust->strictness, HostKeyStrictness::strict);
  EXPECT_EQ(trust->known_hosts.verdict("home", 22, ed25519('h')), inventory::HostKeyVerdict::ok);
}

TEST_F(LoadTrustTest, ANamedFileStandsAlone) {
  test::write_file(file(), line("other", ed25519('o')));
  const auto trust = load_trust(checked_run({{"known_hosts", file()}}));
  ASSERT_EQ(outcome_of(trust), "ok");
  EXPECT_EQ(trust->user_file, file());
  EXPECT_EQ(trust->known_hosts.verdict("other", 22, ed25519('o')), inventory::HostKeyVerdict::ok);
  EXPECT_EQ(trust->known_hosts.verdict("home", 22, ed25519('h')),
            inventory::HostKeyVerdict::unknown);
}

TEST_F(LoadTrustTest, ANamedFileMayBeUnderHome) {
  const auto trust = load_trust(checked_run({{"known_hosts", "~/.ssh/known_hosts"}}));
  ASSERT_EQ(outcome_of(trust), "ok");
  EXPECT_EQ(trust->known_hosts.verdict("home", 22, ed25519('h')), inventory::HostKeyVerdict::ok);
}

TEST_F(LoadTrustTest, AMissingUsersFileIsNoTrust) {
  std::filesystem::remove(folder().path() / ".ssh" / "known_hosts");
  const auto trust = load_trust(checked_run(Json::object()));
  ASSERT_EQ(outcome_of(trust), "ok");
  EXPECT_EQ(trust->known_hosts.verdict("home", 22, ed25519('h')),
            inventory::HostKeyVerdict::unknown);
}

TEST_F(LoadTrustTest, StrictnessIsTheRequests) {
  EXPECT_EQ(load_trust(checked_run({{"accept_unknown_host", true}}))->strictness,
            HostKeyStrictness::accept_unknown);
  EXPECT_EQ(load_trust(checked_run({{"insecure_hostkey", true}}))->strictness,
            HostKeyStrictness::insecure);
}

TEST_F(LoadTrustTest, TwoRelaxationsConflict) {
  EXPECT_EQ(outcome_of(load_trust(
                checked_run({{"accept_unknown_host", true}, {"insecure_hostkey", true}}))),
            "config/request_conflict");
}

TEST_F(LoadTrustTest, AFileThatOthersMayWriteIsRefused) {
  test::write_file(file(), line("other", ed25519('o')), 0666);
  const auto trust = load_trust(checked_run({{"known_hosts", file()}}));
  ASSERT_EQ(outcome_of(trust), "config/unsafe_permissions");
  EXPECT_THAT(trust.error().message + trust.error().hint, HasSubstr("chmod"));
}

TEST_F(LoadTrustTest, AFolderIsNoKnownHosts) {
  EXPECT_EQ(outcome_of(load_trust(checked_run({{"known_hosts", folder().path().string()}}))),
            "config/known_hosts");
}

}  // namespace
}  // namespace sshx::exec
