#include "core/secret_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/text.h"

namespace sshx {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Secret wherever they stand in a name.
constexpr std::array<std::string_view, 16> kStems{
    "password",   "passwd",     "passphrase", "passcode",  "secret",      "token",
    "apikey",     "credential", "storepass",  "keypass",   "requirepass", "accesskey",
    "privatekey", "masterkey",  "authkey",    "signingkey"};

/// Secret only as a whole word of a name: "bypass" and "pattern" are harmless.
constexpr std::array<std::string_view, 7> kWords{"pass",    "pwd",      "pw", "passin",
                                                 "passout", "passwort", "pat"};

/// What makes a name one of a thing around the secret.
constexpr std::array<std::string_view, 41> kHarmlessEnds{"file",      "path",
                                                         "dir",       "name",
                                                         "id",        "type",
                                                         "count",     "length",
                                                         "len",       "size",
                                                         "ttl",       "expiry",
                                                         "expires",   "timeout",
                                                         "policy",    "min",
                                                         "max",       "prompt",
                                                         "prompts",   "env",
                                                         "stdin",     "fd",
                                                         "store",     "command",
                                                         "cmd",       "helper",
                                                         "age",       "field",
                                                         "limit",     "required",
                                                         "enabled",   "disabled",
                                                         "version",   "provider",
                                                         "tokens",    "url",
                                                         "endpoint",  "authentication",
                                                         "algorithm", "manager",
                                                         "through"};

constexpr std::array<std::string_view, 18> kHarmlessFronts{
    "no",      "ask",    "prompt", "without", "require", "use",   "show", "generate", "skip",
    "disable", "enable", "permit", "get",     "list",    "reset", "min",  "max",      "has"};

/// The words of DB_PASSWORD, db-password, db.password and dbPassword, in lower case.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool separator = c == '_' || c == '-' || c == '.';
    const bool hump = i > 0 && is_upper(c) && is_lower(name[i - 1]);
    if ((separator || hump) && !words.back().empty()) words.emplace_back();
    if (!separator) words.back() += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool ends_harmless(std::string_view joined) {
  constexpr std::size_t kShortest = 4;  // "id" or "len" may end any word
  return std::any_of(kHarmlessEnds.begin(), kHarmlessEnds.end(), [&](std::string_view end) {
    return end.size() >= kShortest && joined.ends_with(end);
  });
}

struct Prefix {
  std::string_view text;
  std::size_t shortest;  // of the whole credential
};

constexpr std::array<Prefix, 25> kCredentialPrefixes{{
    {"ghp_", 20},
    {"gho_", 20},
    {"ghs_", 20},
    {"ghu_", 20},
    {"ghr_", 20},
    {"github_pat_", 30},
    {"glpat-", 20},
    {"xoxb-", 20},
    {"xoxp-", 20},
    {"xoxa-", 20},
    {"xoxs-", 20},
    {"xapp-", 20},
    {"sk_live_", 20},
    {"rk_live_", 20},
    {"sk-", 32},
    {"AIza", 35},
    {"npm_", 30},
    {"pypi-", 30},
    {"hf_", 30},
    {"dop_v1_", 30},
    {"SG.", 40},
    {"shpat_", 30},
    {"AGE-SECRET-KEY-", 30},
    {"hvs.", 24},
    {"dckr_pat_", 20},
}};

bool is_access_key_id(std::string_view word) {
  constexpr std::size_t kLength = 20;
  return word.size() == kLength && (word.starts_with("AKIA") || word.starts_with("ASIA")) &&
         std::all_of(word.begin(), word.end(), [](char c) { return is_upper(c) || is_digit(c); });
}

bool is_json_web_token(std::string_view word) {
  constexpr std::size_t kShortest = 30;
  return word.size() >= kShortest && word.starts_with("eyJ") &&
         word.find('.') != std::string_view::npos;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  if (name == "PWD" || name == "OLDPWD") return false;
  const auto words = words_of(name);
  if (words.empty()) return false;
  const auto joined = join(words, "");
  if (contains(kHarmlessFronts, words.front()) || contains(kHarmlessEnds, words.back()) ||
      ends_harmless(joined) || joined.find("tokeniz") != std::string::npos) {
    return false;
  }
  const bool stem = std::any_of(kStems.begin(), kStems.end(), [&](std::string_view part) {
    return joined.find(part) != std::string::npos;
  });
  return stem || std::any_of(words.begin(), words.end(),
                             [](const std::string& word) { return contains(kWords, word); });
}

bool is_known_credential(std::string_view word) noexcept {
  return is_access_key_id(word) || is_json_web_token(word) ||
         std::any_of(kCredentialPrefixes.begin(), kCredentialPrefixes.end(),
                     [&](const Prefix& prefix) {
                       return word.size() >= prefix.shortest && word.starts_with(prefix.text);
                     });
}

bool looks_random(std::string_view word) noexcept {
  constexpr std::size_t kShortest = 6;
  constexpr std::size_t kShortestMixed = 12;
  if (word.size() < kShortest) return false;
  const bool digit = std::any_of(word.begin(), word.end(), is_digit);
  const bool letter =
      std::any_of(word.begin(), word.end(), [](char c) { return is_lower(c) || is_upper(c); });
  if (digit && letter) return true;
  bool hump = false;
  for (std::size_t i = 1; i < word.size(); ++i)
    hump = hump || (is_upper(word[i]) && is_lower(word[i - 1]));
  return word.size() >= kShortestMixed && hump;
}

}  // namespace sshx
