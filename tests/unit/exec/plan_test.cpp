#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/public_key.h"
#include "exec/plan.h"
#include "unit/exec/samples.h"
#include "unit/exec/schema_check.h"
#include "unit/ssh/scripted_agent.h"

namespace sshx::exec {
namespace {

using test::some_ed25519;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string ed25519_line(char filler) {
  return public_key_text({.type = "ssh-ed25519", .blob = some_ed25519(filler)});
}

/// All that goes into one plan.
struct Inputs {
  std::string operation = "run";
  SessionRequest session;
  ActionSummary action = test::command_action("systemctl restart app");
  Limits limits = test::some_limits();
};

class PlanTest : public testing::Test {
 protected:
  /// A plan that can be bound: literal address, a public half, a trusted key, strict.
  [[nodiscard]] Inputs bindable() const {
    Inputs inputs;
    inputs.session.target = test::web_target();
    inputs.session.target.identity = identity("id", 'i');
    inputs.session.identities.file = inputs.session.target.identity;
    inputs.session.trust.known_hosts = trusted("[192.0.2.5]:2222 " + ed25519_line('h') + "\n");
    inputs.session.trust.user_file = folder_.file("known_hosts");
    return inputs;
  }

  [[nodiscard]] std::string identity(const std::string& name, char filler) const {
    const std::string path = folder_.file(name);
    test::write_file(path + ".pub", ed25519_line(filler) + " comment\n", 0644);
    return path;
  }

  [[nodiscard]] inventory::KnownHosts trusted(const std::string& text) const {
    test::write_file(folder_.file("known_hosts"), text);
    return test::known_hosts_in(folder_.file("known_hosts"));
  }

  static Plan plan(const Inputs& inputs) {
    return make_plan(inputs.operation, std::span(&inputs.session, 1), inputs.action, inputs.limits);
  }

  [[nodiscard]] std::string hash_with(const std::function<void(Inputs&)>& change) const {
    Inputs inputs = bindable();
    change(inputs);
    return plan(inputs).hash;
  }

  [[nodiscard]] std::string base_hash() const { return plan(bindable()).hash; }

  [[nodiscard]] const test::ScratchFolder& folder() const { return folder_; }

 private:
  test::ScratchFolder folder_;
};

TEST_F(PlanTest, ADigestOfWhatItMeans) {
  const std::string hash = base_hash();
  EXPECT_EQ(hash.substr(0, 7), "sha256:");
  EXPECT_EQ(hash.size(), 71U);
  EXPECT_EQ(hash, base_hash());
}

// Whoever reviewed a plan compares its hash with that of a later version. This one was computed
// apart from this code, from the canonical JSON of what the plan means.
TEST_F(PlanTest, TheHashOfOneTargetStaysWhatItWas) {
  EXPECT_EQ(base_hash(), "sha256:0c91c8d1a0e288487ea05a0ad2d42514417eab0a4e092dd1b8fd51b49204c383");
}

TEST_F(PlanTest, WhatIsOnlyForPeopleDoesNotCount) {
  const std::string base = base_hash();
  const std::vector<std::function<void(Inputs&)>> changes{
      [](Inputs& i) { i.session.target.alias = std::nullopt; },
      [](Inputs& i) { i.session.target.alias = "another"; },
      [](Inputs& i) {
        i.session.target.groups = {"b", "a"};
      },
      [](Inputs& i) { i.session.target.tags = {}; },
      [](Inputs& i) { i.session.trust.user_file = "/elsewhere"; },
      [this](Inputs& i) {
        // The same key pair in another place.
        i.session.identities.file = identity("moved", 'i');
        i.session.target.identity = i.session.identities.file;
      }};
  for (std::size_t i = 0; i < changes.size(); ++i) EXPECT_EQ(hash_with(changes[i]), base) << i;
}

TEST_F(PlanTest, EverySemanticInputCounts) {
  const std::vector<std::function<void(Inputs&)>> changes{
      [](Inputs&) {}, [](Inputs& i) { i.operation = "host.test"; },
      [](Inputs& i) { i.session.target.address = "192.0.2.6"; },
      [](Inputs& i) { i.session.target.port = 22; },
      [](Inputs& i) { i.session.target.user = "bob"; },
      [](Inputs& i) { i.action = test::command_action("systemctl restart app "); },
      [](Inputs& i) { i.action = test::command_action(""); },
      [](Inputs& i) { i.limits.connect_timeout_ms = 10001; },
      [](Inputs& i) { i.limits.timeout_ms = 60001; },
      [](Inputs& i) { i.limits.max_output_bytes = 1001; },
      [](Inputs& i) { i.limits.server_alive_interval_ms = 5001; },
      [](Inputs& i) { i.limits.server_alive_count_max = 4; },
      [](Inputs& i) { i.limits.host_timeout_ms = 60000; },
      [](Inputs& i) { i.limits.host_timeout_ms = 60001; },
      [](Inputs& i) { i.limits.global_timeout_ms = 60000; },
      [](Inputs& i) { i.limits.fail_fast = true; }, [](Inputs& i) { i.limits.max_failures = 1; },
      [](Inputs& i) { i.limits.max_failures = 2; }, [](Inputs& i) { i.limits.concurrency = 1; },
      [](Inputs& i) { i.limits.concurrency = 2; }, [](Inputs& i) { i.limits.per_address = 1; },
      [](Inputs& i) {
        i.action.payload.interpreter = Interpreter{"sh", {}};
      },
      [](Inputs& i) {
        i.action.payload.interpreter = Interpreter{"bash", {}};
      },
      [](Inputs& i) {
        i.action.payload.interpreter = Interpreter{"bash", {"-e"}};
      },
      [](Inputs& i) { i.action.payload.directory = "/srv"; },
      [](Inputs& i) { i.action.payload.directory = "/srv/"; },
      [](Inputs& i) { i.action.payload.environment = {"A=1"}; },
      [](Inputs& i) {
        i.action.payload.environment = {"A=1", "B=2"};
      },
      // The later of two with one name wins, so their order means something.
      [](Inputs& i) {
        i.action.payload.environment = {"B=2", "A=1"};
      },
      [](Inputs& i) { i.action.payload.terminal = true; },
      [](Inputs& i) { i.action.stdin_held = true; },
      [](Inputs& i) { i.action.second_channel = SecondChannel::never; },
      [](Inputs& i) {
        i.action.bypass = Bypass{.force = true, .no_safety_check = false, .reason = "because"};
      },
      [](Inputs& i) {
        i.action.bypass = Bypass{.force = false, .no_safety_check = true, .reason = "because"};
      },
      [](Inputs& i) {
        i.action.bypass = Bypass{.force = true, .no_safety_check = false, .reason = "else"};
      },
      [](Inputs& i) { i.action.input = InputMode::inherited; },
      [](Inputs& i) {
        i.action.input = InputMode::given;
        i.action.stdin_bytes = 7;
      },
      [](Inputs& i) {
        i.action.input = InputMode::given;
        i.action.stdin_bytes = 8;
      },
      [](Inputs& i) { i.session.trust.strictness = HostKeyStrictness::accept_unknown; },
      [](Inputs& i) { i.session.trust.strictness = HostKeyStrictness::insecure; },
      [this](Inputs& i) { i.session.identities.file = identity("other", 'o'); },
      [this](Inputs& i) {
        i.session.trust.known_hosts =
            trusted("[192.0.2.5]:2222 " + ed25519_line('h') + "\nother " + ed25519_line('x'));
      },
      [this](Inputs& i) { i.session.trust.known_hosts = trusted(""); }};
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto [place, fresh] = seen.emplace(hash_with(changes[i]), i);
    EXPECT_TRUE(fresh) << i << " is like " << place->second;
  }
}

TEST_F(PlanTest, TheTrustSnapshotIsOfRecordsNotOfText) {
  const std::string base = base_hash();
  EXPECT_EQ(hash_with([this](Inputs& i) {
              i.session.trust.known_hosts =
                  trusted("# a comment\n\n[192.0.2.5]:2222 " + ed25519_line('h') + "\n");
            }),
            base);
}

TEST_F(PlanTest, WhatIsAllKnownCanBeBound) {
  const Plan made = plan(bindable());
  EXPECT_THAT(made.unresolved, IsEmpty());
  EXPECT_EQ(made.document["bindable"], true);
  EXPECT_EQ(made.document["unresolved"], Json::array());
}

/// What `change` leaves unresolved, as one text.
std::string unresolved_in(const Plan& plan) {
  std::string all;
  for (const Plan::Unresolved& one : plan.unresolved) all += one.what + ": " + one.reason + "\n";
  return all;
}

TEST_F(PlanTest, EachUnknownIsNamed) {
  struct Case {
    std::string word;
    std::function<void(Inputs&)> change;
  };

  const std::vector<Case> cases{
      {"address",
       [this](Inputs& i) {
         i.session.target.address = "web.example.com";
         i.session.trust.known_hosts =
             trusted("[web.example.com]:2222 " + ed25519_line('h') + "\n");
       }},
      {"identity", [this](Inputs& i) { i.session.identities.file = folder().file("no-pub"); }},
      {"host_key", [this](Inputs& i) { i.session.trust.known_hosts = trusted(""); }},
      {"host_key",
       [this](Inputs& i) {
         i.session.trust.known_hosts = trusted("@cert-authority * " + ed25519_line('h') + "\n");
       }},
      {"host_key",
       [this](Inputs& i) {
         i.session.trust.known_hosts =
             trusted("@revoked [192.0.2.5]:2222 " + ed25519_line('h') + "\n");
       }},
      {"host_key",
       [](Inputs& i) { i.session.trust.strictness = HostKeyStrictness::accept_unknown; }},
      {"host_key", [](Inputs& i) { i.session.trust.strictness = HostKeyStrictness::insecure; }}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Inputs inputs = bindable();
    cases[i].change(inputs);
    const Plan made = plan(inputs);
    ASSERT_EQ(made.unresolved.size(), 1U) << i << ": " << unresolved_in(made);
    EXPECT_THAT(made.unresolved[0].what, HasSubstr(cases[i].word)) << i;
    EXPECT_FALSE(made.unresolved[0].reason.empty()) << i;
    EXPECT_EQ(made.document["bindable"], false) << i;
    EXPECT_EQ(made.document["unresolved"][0]["what"], made.unresolved[0].what);
    test::expect_valid(made.document);
  }
}

TEST_F(PlanTest, SeveralUnknownsAreAllNamed) {
  Inputs inputs = bindable();
  inputs.session.target.address = "web.example.com";
  inputs.session.identities.file = folder().file("no-pub");
  const std::string all = unresolved_in(plan(inputs));
  for (const std::string word : {"address", "identity", "host_key"})
    EXPECT_THAT(all, HasSubstr(word));
}

TEST_F(PlanTest, ALiteralAddressOfEitherFamilyIsKnown) {
  for (const std::string address : {"192.0.2.5", "2001:db8::5", "::1"}) {
    Inputs inputs = bindable();
    inputs.session.target.address = address;
    inputs.session.trust.known_hosts = trusted("[" + address + "]:2222 " + ed25519_line('h'));
    EXPECT_EQ(unresolved_in(plan(inputs)), "") << address;
  }
}

TEST_F(PlanTest, TheDocumentIsWhatItsSchemaSays) {
  const Plan made = plan(bindable());
  const Json& document = made.document;
  test::expect_valid(document);
  EXPECT_EQ(document["schema_version"], "sshx.plan.v1");
  EXPECT_EQ(document["plan_hash"], made.hash);
  EXPECT_EQ(document["operation"], "run");
  ASSERT_EQ(document["targets"].size(), 1U);
  const Json& target = document["targets"][0];
  EXPECT_EQ(target["alias"], "web-1");
  EXPECT_EQ(target["address"], "192.0.2.5");
  EXPECT_EQ(target["port"], 2222);
  EXPECT_EQ(target["user"], "alice");
  EXPECT_EQ(target["identity"]["kind"], "file");
  EXPECT_EQ(target["identity"]["path"], folder().file("id"));
  EXPECT_EQ(target["identity"]["fingerprint"],
            fingerprint({.type = "ssh-ed25519", .blob = some_ed25519('i')}));
  EXPECT_EQ(target["host_key"]["policy"], "strict");
  EXPECT_THAT(dump_json(target["host_key"]["trusted"]),
              HasSubstr(fingerprint({.type = "ssh-ed25519", .blob = some_ed25519('h')})));
  EXPECT_EQ(document["trust_snapshot"], trusted("[192.0.2.5]:2222 " + ed25519_line('h')).digest());
  EXPECT_EQ(document["limits"]["timeout_ms"], 60000);
}

// Design §4: opaque commands are `mutation` with `unknown`; intent never changes that.
TEST_F(PlanTest, AnOpaqueCommandMayDoAnything) {
  for (const Intent intent : {Intent::read, Intent::change, Intent::unknown}) {
    Inputs inputs = bindable();
    inputs.action.intent = intent;
    const Plan made = plan(inputs);
    EXPECT_EQ(made.risk, Risk::mutation);
    EXPECT_THAT(made.effects, testing::Contains("unknown"));
    EXPECT_EQ(made.document["risk"], "mutation");
    EXPECT_EQ(made.document["action"]["intent"], std::string(to_string(intent)));
  }
}

TEST_F(PlanTest, PlansWithoutAConfiguredKeySayWhatIsUsed) {
  Inputs agent = bindable();
  agent.session.identities = {.file = {}, .agent_socket = "/run/agent"};
  EXPECT_EQ(plan(agent).document["targets"][0]["identity"]["kind"], "agent");
  Inputs nothing = bindable();
  nothing.session.identities = {};
  const Plan made = plan(nothing);
  test::expect_valid(made.document);
  EXPECT_TRUE(made.document["targets"][0]["identity"]["fingerprint"].is_null());
}

// -- Several targets ------------------------------------------------------------------------------

class SeveralTargetsTest : public PlanTest {
 protected:
  /// Sessions of web-1, web-2 and so on, each at an address of its own, one trust for all.
  [[nodiscard]] std::vector<SessionRequest> sessions(int count) const {
    std::string known;
    for (int i = 1; i <= count; ++i)
      known += "[192.0.2." + std::to_string(i) + "]:2222 " + ed25519_line('h') + "\n";
    auto model = bindable().session;
    model.trust.known_hosts = trusted(known);
    std::vector<SessionRequest> sessions;
    for (int i = 1; i <= count; ++i) {
      model.target.alias = "web-" + std::to_string(i);
      model.target.address = "192.0.2." + std::to_string(i);
      sessions.push_back(model);
    }
    return sessions;
  }

  static Plan plan_of(const std::vector<SessionRequest>& sessions) {
    return make_plan("run", sessions, test::command_action("uptime"), test::some_limits());
  }
};

TEST_F(SeveralTargetsTest, AllAreInTheDocumentInTheirOrder) {
  const Plan made = plan_of(sessions(3));
  test::expect_valid(made.document);
  ASSERT_EQ(made.document["targets"].size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(made.document["targets"][i]["alias"], "web-" + std::to_string(i + 1));
  EXPECT_THAT(made.unresolved, IsEmpty());
}

TEST_F(SeveralTargetsTest, NeitherOrderNorNamesCountForTheHash) {
  auto list = sessions(4);
  const auto hash = plan_of(list).hash;
  std::ranges::reverse(list);
  EXPECT_EQ(plan_of(list).hash, hash);
  for (std::size_t i = 0; i < list.size(); ++i) list[i].target.alias = std::string(i + 1, 'a');
  EXPECT_EQ(plan_of(list).hash, hash);
}

TEST_F(SeveralTargetsTest, EachTargetCountsAsOftenAsItIsThere) {
  const auto list = sessions(3);
  const std::vector<SessionRequest> fewer(list.begin(), list.begin() + 2);
  const std::vector<SessionRequest> twice{list[0], list[1], list[2], list[2]};
  const std::vector<SessionRequest> other{list[0], list[0], list[1], list[2]};
  const std::set<std::string> hashes{plan_of(list).hash, plan_of(fewer).hash, plan_of(twice).hash,
                                     plan_of(other).hash};
  EXPECT_EQ(hashes.size(), 4U);
}

TEST_F(SeveralTargetsTest, WhatIsUnknownNamesItsTarget) {
  auto list = sessions(3);
  list[0].target.address = "web.example.com";
  list[2].identities.file = folder().file("no-pub");
  const Plan made = plan_of(list);
  test::expect_valid(made.document);
  const auto all = unresolved_in(made);
  EXPECT_THAT(all, HasSubstr("address: web-1: web.example.com is a name"));
  EXPECT_THAT(all, HasSubstr("host_key: web-1: no key"));
  EXPECT_THAT(all, HasSubstr("identity: web-3: there is no readable"));
  EXPECT_THAT(all, Not(HasSubstr("web-2")));
}

TEST_F(SeveralTargetsTest, WhatHoldsForAllIsSaidOnce) {
  auto list = sessions(3);
  for (auto& session : list) session.trust.strictness = HostKeyStrictness::insecure;
  const Plan made = plan_of(list);
  ASSERT_EQ(made.unresolved.size(), 1U);
  EXPECT_EQ(made.unresolved[0].what, "host_key_policy");
}

TEST_F(SeveralTargetsTest, NoneIsAPlanToo) {
  const Plan made = plan_of({});
  test::expect_valid(made.document);
  EXPECT_EQ(made.document["targets"], Json::array());
  EXPECT_EQ(made.document["bindable"], true);
  EXPECT_NE(made.hash, plan_of(sessions(1)).hash);
}

// 10,000 targets, each with another key file; the test's time limit is the judge.
TEST_F(SeveralTargetsTest, CopesWithTenThousand) {
  auto list = sessions(1);
  std::vector<SessionRequest> many(10'000, list.front());
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i].target.port = static_cast<std::uint16_t>(i + 1);
    many[i].identities.file = folder().file("key-" + std::to_string(i));
  }
  EXPECT_EQ(plan_of(many).document["targets"].size(), many.size());
}

TEST(ActionJsonTest, HasNoDigestOfStdin) {
  ActionSummary action = test::command_action("cat");
  action.input = InputMode::given;
  action.stdin_bytes = 8;
  const Json json = action_json(action);
  EXPECT_EQ(json["kind"], "command");
  EXPECT_EQ(json["stdin_bytes"], 8);
  EXPECT_EQ(json["payload_sha256"], sha256_label("cat"));
  EXPECT_EQ(json["payload_bytes"], 3);
  EXPECT_EQ(json["uses_sudo"], false);
  EXPECT_TRUE(json["script_runner"].is_null());
}

TEST(ActionJsonTest, TellsEmptyFromInheritedStdin) {
  ActionSummary action = test::command_action("cat");
  EXPECT_EQ(action_json(action)["stdin_bytes"], 0);
  action.input = InputMode::inherited;
  EXPECT_TRUE(action_json(action)["stdin_bytes"].is_null());
}

TEST(LimitsJsonTest, EchoesTheEffectiveValues) {
  const Limits limits{.connect_timeout_ms = 1,
                      .timeout_ms = 2,
                      .max_output_bytes = 3,
                      .server_alive_interval_ms = 4,
                      .server_alive_count_max = 5,
                      .host_timeout_ms = 6,
                      .global_timeout_ms = 7,
                      .fail_fast = true,
                      .max_failures = 8,
                      .concurrency = 9,
                      .per_address = 10};
  EXPECT_EQ(limits_json(limits), Json({{"connect_timeout_ms", 1},
                                       {"timeout_ms", 2},
                                       {"max_output_bytes", 3},
                                       {"server_alive_interval_ms", 4},
                                       {"server_alive_count_max", 5},
                                       {"host_timeout_ms", 6},
                                       {"global_timeout_ms", 7},
                                       {"fail_fast", true},
                                       {"max_failures", 8},
                                       {"concurrency", 9},
                                       {"per_address", 10}}));
}

TEST(LimitsJsonTest, ALimitThatIsNotThereIsNull) {
  const Json json = limits_json(test::some_limits());
  for (const auto* name :
       {"host_timeout_ms", "global_timeout_ms", "max_failures", "concurrency", "per_address"})
    EXPECT_TRUE(json.at(name).is_null()) << name;
  EXPECT_EQ(json["fail_fast"], false);
}

}  // namespace
}  // namespace sshx::exec
