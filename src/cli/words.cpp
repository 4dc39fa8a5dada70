#include "cli/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/redact.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

enum class Arity : std::uint8_t { unknown, none, one };

/// Operations that are also spelled with dashes: `--host-add`, `--password-set`.
struct DashedGroup {
  std::string_view spelled;
  std::string_view group;
};
constexpr std::array<DashedGroup, 2> kDashedGroups{{{"host-", "host."}, {"password-", "secret."}}};
constexpr std::string_view kSecretGroup = "secret.";

bool is_option(std::string_view argument) noexcept {
  return argument.size() > 1 && argument.front() == '-';
}

template <class Matches>
Arity arity_of(const Matches& matches) {
  for (const auto& operation : operations()) {
    for (const auto properties : {operation.properties, operation.presentation}) {
      const auto found = std::ranges::find_if(properties, matches);
      if (found != properties.end()) {
        return found->type == PropertyType::boolean ? Arity::none : Arity::one;
      }
    }
  }
  return Arity::unknown;
}

// The operation may not be known yet when its options are met. That works because a flag takes a
// value in all operations or in none, which the generator checks.
Arity arity_of_flag(std::string_view flag) {
  return arity_of([&](const Property& p) { return !p.flag.empty() && p.flag == flag; });
}

Arity arity_of_short(char c) {
  return arity_of([&](const Property& p) { return p.short_flag == c; });
}

/// Whether the next argument is this option's value: `--target`, `-t` or `-qt`, but not
/// `--target=x` or `-tx`.
bool takes_next(std::string_view option) {
  if (option.starts_with("--")) return arity_of_flag(option.substr(2)) == Arity::one;
  for (std::size_t i = 1; i < option.size(); ++i) {
    if (arity_of_short(option[i]) == Arity::one) return i + 1 == option.size();
  }
  return false;
}

const Operation* dashed_operation(std::string_view name) {
  for (const auto& [spelled, group] : kDashedGroups) {
    if (name.starts_with(spelled))
      return find_operation(std::string(group) + std::string(name.substr(spelled.size())));
  }
  return nullptr;
}

/// Says nothing of what was given, which others on this machine may have seen by now.
Error secret_as_argument() {
  return config_error("usage",
                      "a secret is never an argument, where others can see it; only its key is",
                      "sshx secret set KEY asks for the secret, or reads it from stdin; if a real "
                      "one was given, change it");
}

bool begins_operation(std::string_view path) {
  const auto prefix = std::string(path) + ".";
  return std::ranges::any_of(operations(),
                             [&](const Operation& o) { return o.name.starts_with(prefix); });
}

/// The operation whose last word this is: `sshx add` may mean `sshx host add`.
std::optional<std::string> ending_in(std::string_view word) {
  const auto suffix = "." + std::string(word);
  const auto found = std::ranges::find_if(
      operations(), [&](const Operation& o) { return o.name.ends_with(suffix); });
  if (found == operations().end()) return std::nullopt;
  return spaced(found->name);
}

Error unknown_command(std::string_view path, std::string_view word) {
  const auto candidates = next_words(path);
  const auto before = path.empty() ? std::string() : spaced(path) + " ";
  auto error = config_error("unknown_command", fmt::format("there is no operation '{}{}'", before,
                                                           printable(redact(word))));
  if (path.empty() && (word == "help" || word == "version")) {
    error.hint = fmt::format("did you mean sshx --{}?", word);
  } else if (const auto near = nearest(word, candidates)) {
    error.hint = fmt::format("did you mean sshx {}{}?", before, *near);
  } else if (const auto other = ending_in(word)) {
    error.hint = fmt::format("did you mean sshx {}?", *other);
  } else {
    error.hint = fmt::format("known here: {}; see sshx --help", fmt::join(candidates, ", "));
  }
  return error;
}

Error incomplete(std::string_view path) {
  if (path.empty()) return config_error("usage", "no operation is given", "sshx --help lists them");
  return config_error("usage",
                      fmt::format("sshx {} needs one more word: {}", spaced(path),
                                  fmt::join(next_words(path), ", ")),
                      fmt::format("see sshx {} --help", spaced(path)));
}

/// One pass over the arguments before `--`.
class Scan {
 public:
  explicit Scan(std::span<const std::string> arguments) : left_(arguments) {}

  Words run() {
    while (!left_.empty() && left_.front() != "--") {
      const std::string& argument = left_.front();
      left_ = left_.subspan(1);
      if (is_option(argument)) {
        take_option(argument);
      } else {
        take_word(argument);
      }
    }
    if (!left_.empty()) words_.command.assign(left_.begin() + 1, left_.end());
    finish();
    return std::move(words_);
  }

 private:
  void fault(Error error) {
    if (!words_.problem) words_.problem = std::move(error);
  }

  void settle(const Operation& operation) {
    words_.operation = &operation;
    words_.path = operation.name;
  }

  void take_word(const std::string& word) {
    if (words_.operation != nullptr) return take_argument(word);
    const auto path = words_.path.empty() ? word : words_.path + "." + word;
    if (const auto* operation = find_operation(path)) return settle(*operation);
    if (begins_operation(path)) {
      words_.path = path;
    } else {
      fault(unknown_command(words_.path, word));
    }
  }

  /// A word behind the operation's. Behind one about secrets there is one, a key.
  void take_argument(const std::string& word) {
    const bool is_about_secrets = words_.operation->name.starts_with(kSecretGroup);
    const bool is_another = std::exchange(has_argument_, true);
    if (is_about_secrets && (is_another || word.find(':') != std::string::npos))
      return fault(secret_as_argument());
    words_.arguments.push_back(word);
  }

  void take_option(const std::string& option) {
    if (option == "--help" || option == "-h") {
      words_.help = true;
    } else if (option == "--version" || option == "-V") {
      words_.version = true;
    } else if (const auto equals = option.find('=');
               option.starts_with("--") && equals != std::string::npos) {
      take_joined(option, equals);
    } else if (const auto* operation =
                   words_.path.empty() ? dashed_operation(option.substr(2)) : nullptr) {
      settle(*operation);
    } else {
      words_.arguments.push_back(option);
      if (takes_next(option)) take_value(option);
    }
  }

  /// `--flag=value`.
  void take_joined(const std::string& option, std::size_t equals) {
    const auto flag = option.substr(2, equals - 2);
    const auto value = option.substr(equals + 1);
    if (const auto* operation = words_.path.empty() ? dashed_operation(flag) : nullptr) {
      settle(*operation);
      take_argument(value);
    } else if (arity_of_flag(flag) == Arity::none) {
      fault(config_error("usage", fmt::format("--{} takes no value", flag)));
    } else if (value.empty()) {
      // The option parser takes an empty value for none and would go on to the next argument.
      words_.arguments.push_back("--" + flag);
      words_.arguments.emplace_back();
    } else {
      words_.arguments.push_back(option);
    }
  }

  void take_value(const std::string& option) {
    if (left_.empty() || is_option(left_.front())) {
      const auto hint =
          left_.empty() || left_.front() == "--" || !option.starts_with("--")
              ? std::string()
              : fmt::format("write {}=VALUE for a value that begins with a dash", option);
      return fault(config_error("usage", fmt::format("{} needs a value", printable(option)), hint));
    }
    words_.arguments.push_back(left_.front());
    left_ = left_.subspan(1);
  }

  void finish() {
    if (words_.operation != nullptr) return;
    const auto* standing_for = group_default(words_.path);
    if (standing_for != nullptr && !words_.help && !words_.problem) {
      settle(*standing_for);
    } else if (!words_.help && !(words_.version && words_.path.empty())) {
      fault(incomplete(words_.path));
    }
  }

  std::span<const std::string> left_;
  Words words_;
  bool has_argument_ = false;
};

}  // namespace

Words find_words(std::span<const std::string> arguments) { return Scan(arguments).run(); }

const Operation* group_default(std::string_view group) {
  const auto prefix = std::string(group) + ".";
  const auto found = std::ranges::find_if(operations(), [&](const Operation& o) {
    return o.group_default && o.name.starts_with(prefix);
  });
  return found == operations().end() ? nullptr : &*found;
}

std::vector<std::string> next_words(std::string_view path) {
  const auto prefix = path.empty() ? std::string() : std::string(path) + ".";
  std::vector<std::string> words;
  for (const auto& operation : operations()) {
    if (!operation.name.starts_with(prefix)) continue;
    auto word = split(operation.name.substr(prefix.size()), '.').front();
    if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
  }
  return words;
}

std::string spaced(std::string_view path) {
  std::string words(path);
  std::ranges::replace(words, '.', ' ');
  return words;
}

}  // namespace sshx::cli
