#include "core/redact.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "core/secret_names.h"
#include "core/secret_options.h"
#include "core/text.h"

namespace sshx {
namespace {

constexpr auto kEnd = std::string_view::npos;
constexpr std::string_view kBlank = " \t";
constexpr std::string_view kEndsValue = " \t\r\n;|&<>()";
/// How much of a word is looked at to tell whether it is a secret. What is not one is looked at
/// again, so this bounds the time; what is one is hidden whole.
constexpr std::size_t kLongestJudged = 512;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool is_quote(char c) { return c == '"' || c == '\''; }

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

constexpr std::array<std::string_view, 9> kSchemes{
    "bearer", "basic", "token", "digest", "apikey", "oauth", "negotiate", "privatekey", "ntlm"};

/// Values that say something about a secret without being one.
constexpr std::array<std::string_view, 10> kPlainValues{"",     "true", "false", "yes", "no",
                                                        "none", "null", "on",    "off", "***"};

/// Words that go on with a sentence after an option's name ("use --password to set it").
constexpr std::array<std::string_view, 22> kProse{
    "to",     "and", "or",  "is",   "are",   "for", "if",  "in",   "with",     "the",     "a",
    "option", "was", "not", "must", "needs", "may", "can", "from", "requires", "instead", "when"};

struct Span {
  std::size_t begin;
  std::size_t end;
};

/// One pass over the text that collects where secrets stand. Every step consumes what it looked at,
/// or looks at a bounded or remembered part ahead, so the time is linear.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Span> scan() {
    while (at_ < text_.size()) {
      if (is_name_character(text_[at_])) {
        scan_word();
      } else {
        scan_mark();
      }
    }
    std::sort(spans_.begin(), spans_.end(), [](Span a, Span b) { return a.begin < b.begin; });
    return std::move(spans_);
  }

 private:
  [[nodiscard]] char peek(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  [[nodiscard]] std::size_t skip_blank(std::size_t at) const {
    return std::min(text_.find_first_not_of(kBlank, at), text_.size());
  }

  [[nodiscard]] std::size_t name_end(std::size_t at) const {
    while (at < text_.size() && is_name_character(text_[at])) ++at;
    return at;
  }

  void hide(std::size_t begin, std::size_t end) {
    if (begin < end) spans_.push_back({begin, end});
    at_ = std::max(at_, end);
  }

  // -- Where values end ---------------------------------------------------------------------------

  /// Behind the quote that closes the one at `at`; the end of the text where none does.
  [[nodiscard]] std::size_t quoted_end(std::size_t at) const {
    const char quote = text_[at];
    for (++at; at < text_.size(); ++at) {
      if (text_[at] == quote) return at + 1;
      if (text_[at] == '\\' && quote == '"') ++at;
    }
    return text_.size();
  }

  [[nodiscard]] std::size_t substitution_end(std::size_t at) const {
    std::size_t depth = 0;
    while (at < text_.size()) {
      if (is_quote(text_[at])) {
        at = quoted_end(at);
        continue;
      }
      if (text_[at] == '(') ++depth;
      if (text_[at] == ')' && --depth == 0) return at + 1;
      ++at;
    }
    return text_.size();
  }

  /// The end of the shell word at `at`, within the quotes around it.
  [[nodiscard]] std::size_t word_end(std::size_t at) const {
    if (peek(at) == '\\' && is_quote(peek(at + 1))) {
      const auto close = text_.find(text_.substr(at, 2), at + 2);
      if (close != kEnd) return close + 2;
    }
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == quote_ || kEndsValue.find(c) != kEnd) return at;
      if (c == '\\') {
        if (quote_ != '\0' && peek(at + 1) == quote_) return at;
        at += 2;
      } else if (is_quote(c)) {
        at = quoted_end(at);
      } else if (c == '$' && peek(at + 1) == '(') {
        at = substitution_end(at + 1);
      } else if (c == '`') {
        at = std::min(text_.find('`', at + 1), text_.size() - 1) + 1;
      } else {
        ++at;
      }
    }
    return text_.size();
  }

  /// The end of the line, or of the quotes around it.
  [[nodiscard]] std::size_t line_end(std::size_t at) const {
    while (at < text_.size() && text_[at] != '\n' && text_[at] != quote_) {
      if (text_[at] == '\\' && quote_ != '\0' && peek(at + 1) == quote_) return at;
      ++at;
    }
    return at;
  }

  // -- What a value is ----------------------------------------------------------------------------

  /// The shell word at `begin` as far as it is judged.
  [[nodiscard]] std::string_view judged(std::size_t begin) const {
    Scanner window(text_.substr(0, begin + kLongestJudged));
    window.quote_ = quote_;
    return text_.substr(begin, window.word_end(begin) - begin);
  }

  static std::string_view bare(std::string_view value) {
    if (value.size() >= 2 && is_quote(value.front()) && value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    return value;
  }

  /// A value that names another place ($VARIABLE) or says only yes or no.
  static bool is_plain_value(std::string_view value) {
    if (contains(kPlainValues, lower_ascii(value))) return true;
    if (!value.starts_with('$')) return false;
    value.remove_prefix(1);
    if (value.starts_with('{') && value.ends_with('}')) value = value.substr(1, value.size() - 2);
    return !value.empty() && std::all_of(value.begin(), value.end(), is_name_character);
  }

  bool hide_value(std::size_t begin, std::size_t end) {
    if (is_plain_value(bare(text_.substr(begin, end - begin)))) return false;
    hide(begin, end);
    return true;
  }

  /// The value in the next word, unless that is an option or the rest of a sentence.
  bool hide_next_word(std::size_t at) {
    const auto begin = skip_blank(at);
    if (begin == at || peek(begin) == '-') return false;
    const auto value = bare(judged(begin));
    if (contains(kProse, value) || value.starts_with("env:") || value.starts_with("file:"))
      return false;
    return hide_value(begin, word_end(begin));
  }

  // -- Words --------------------------------------------------------------------------------------

  void scan_word() {
    const auto begin = at_;
    at_ = name_end(begin);
    const auto name = text_.substr(begin, at_ - begin);
    const bool found = hide_key_block(begin, name) || hide_credential(begin, name) ||
                       hide_user_information() || hide_named(begin, name) || hide_header(name) ||
                       hide_scheme(name) || hide_statement(name) ||
                       hide_command_option(begin, name);
    if (!found) note_command(name);
    previous_ = name;
    ++words_;
  }

  bool hide_key_block(std::size_t begin, std::string_view name) {
    constexpr std::string_view kTail = "PRIVATE KEY-----";
    constexpr std::size_t kLongestLabel = 80;
    if (!name.ends_with("-----BEGIN")) return false;
    if (text_.substr(at_, kLongestLabel).find(kTail) == kEnd) return false;
    begin += name.size() - std::string_view("-----BEGIN").size();
    const auto end = text_.find("-----END", at_);
    const auto tail = end == kEnd ? kEnd : text_.find(kTail, end);
    hide(begin, tail == kEnd ? text_.size() : tail + kTail.size());
    return true;
  }

  bool hide_credential(std::size_t begin, std::string_view name) {
    while (name.ends_with('.')) name.remove_suffix(1);
    if (!is_known_credential(name)) return false;
    hide(begin, begin + name.size());
    return true;
  }

  /// The '@' that ends the user information of a URL's authority at `begin`; kEnd where there is
  /// none.
  [[nodiscard]] std::size_t user_information_end(std::size_t begin) {
    constexpr std::string_view kStops = " \t\r\n'\"<>`\\";
    const auto stop = std::min(text_.find_first_of("/?# \t\r\n'\"<>`\\", begin), text_.size());
    const auto authority = text_.substr(begin, stop - begin);
    if (const auto at = authority.rfind('@'); at != kEnd) return begin + at;
    // A password may hold a raw "/": then what follows the colon is no port.
    const auto colon = authority.find(':');
    if (colon == kEnd || stop == text_.size()) return kEnd;
    const auto port = authority.substr(colon + 1);
    if (port.find_first_not_of("0123456789") == kEnd || authority.starts_with('[')) return kEnd;
    // Remembered, so that a text full of such authorities is not searched again for each.
    if (url_stop_ < begin) url_stop_ = std::min(text_.find_first_of(kStops, begin), text_.size());
    if (next_at_ < begin) next_at_ = std::min(text_.find('@', begin), text_.size());
    return next_at_ < url_stop_ ? next_at_ : kEnd;
  }

  bool hide_user_information() {
    if (text_.substr(at_, 3) != "://") return false;
    const auto begin = at_ + 3;
    const auto end = user_information_end(begin);
    if (end == kEnd) return false;
    const auto user = text_.substr(begin, end - begin);
    if (user.find(':') == kEnd && !is_known_credential(user) && user.size() < 20) return false;
    hide(begin, end);
    return true;
  }

  /// NAME=value, --name value, "name": "value", name: value.
  bool hide_named(std::size_t begin, std::string_view name) {
    if (!is_secret_name(name)) return false;
    const bool option = name.starts_with('-');
    const auto after = skip_blank(at_);
    if (peek(at_) == '=' || (!option && peek(after) == '=' && peek(after + 1) != '=')) {
      return hide_assigned(begin, at_ == after ? after + 1 : skip_blank(after + 1));
    }
    if (option) return hide_next_word(at_);
    // `git config set user.token x`, `npm config set //registry/:_authToken x`
    const bool compound = name.find_first_of("_.-") != kEnd;
    if (compound && (previous_ == "set" || name.starts_with('_'))) return hide_next_word(at_);
    return hide_member() || hide_after_colon();
  }

  /// `-c` of a shell or of su, alone or as the last of several letters.
  static bool takes_script(std::string_view option) {
    return option.starts_with('-') && !option.starts_with("--") && option.ends_with('c');
  }

  bool hide_assigned(std::size_t begin, std::size_t value) {
    // A quoted word that is one assignment goes to its closing quote; the script of `sh -c` is more
    // than that.
    if (quote_ != '\0' && quote_at_ + 1 == begin && !takes_script(previous_)) {
      return hide_value(value, line_end(value));
    }
    return hide_value(value, word_end(value));
  }

  /// The end of `\"` or `"` at `at`; kEnd where there is no quote.
  [[nodiscard]] std::size_t quote_end(std::size_t at) const {
    if (peek(at) == '\\') ++at;
    return is_quote(peek(at)) ? at + 1 : kEnd;
  }

  /// "name": "value" as in JSON, also escaped once.
  bool hide_member() {
    const auto key = quote_end(at_);
    if (key == kEnd) return false;
    const auto colon = skip_blank(key);
    if (peek(colon) != ':') return false;
    const auto open = skip_blank(colon + 1);
    const auto value = quote_end(open);
    if (value == kEnd) return false;
    const bool escaped = text_[open] == '\\';
    const auto delimiter = text_.substr(open, value - open);
    const auto end =
        escaped ? std::min(text_.find(delimiter, value), text_.size()) : quoted_end(open) - 1;
    return hide_value(value, std::max(value, end));
  }

  /// `name: "value"`, or `name: value` where the value cannot be a word of a sentence.
  bool hide_after_colon() {
    if (peek(at_) != ':') return false;
    const auto begin = skip_blank(at_ + 1);
    if (begin == at_ + 1) return false;
    if (!is_quote(peek(begin)) && !looks_random(judged(begin))) return false;
    return hide_value(begin, word_end(begin));
  }

  bool hide_header(std::string_view name) {
    if (peek(at_) != ':') return false;
    const auto lower = lower_ascii(name);
    const bool authorization = lower == "authorization" || lower == "proxy-authorization";
    const bool cookie = lower == "cookie" || lower == "set-cookie";
    const bool key = lower == "apikey" || (lower.find('-') != kEnd && is_secret_name(name));
    if (!authorization && !cookie && !key) return false;
    auto begin = skip_blank(at_ + 1);
    if (authorization) begin = skip_scheme(begin);
    // Quoted, it is an argument. Otherwise it may be a sentence about the header.
    if (quote_ == '\0' && !looks_random(judged(begin))) return false;
    return hide_value(begin, line_end(begin));
  }

  /// Behind "Bearer " and its like.
  [[nodiscard]] std::size_t skip_scheme(std::size_t at) const {
    const auto end = name_end(at);
    if (!contains(kSchemes, lower_ascii(text_.substr(at, end - at)))) return at;
    return skip_blank(end);
  }

  bool hide_scheme(std::string_view name) {
    const auto lower = lower_ascii(name);
    if (lower != "bearer" && lower != "basic") return false;
    const auto begin = skip_blank(at_);
    if (begin == at_ || !looks_random(judged(begin))) return false;
    hide(begin, word_end(begin));
    return true;
  }

  /// SQL: PASSWORD 'x', PASSWORD('x'), IDENTIFIED BY 'x'.
  bool hide_statement(std::string_view name) {
    const auto lower = lower_ascii(name);
    const bool by = lower == "by" && lower_ascii(previous_) == "identified";
    if (!by && lower != "password") return false;
    auto begin = skip_blank(at_);
    if (peek(begin) == '(') begin = skip_blank(begin + 1);
    if (begin == at_ || !is_quote(peek(begin)) || peek(begin) == quote_) return false;
    return hide_value(begin, quoted_end(begin));
  }

  // -- Commands -----------------------------------------------------------------------------------

  bool hide_command_option(std::size_t begin, std::string_view name) {
    if (!name.starts_with('-')) return false;
    note_stdin_option(name);
    return std::ranges::any_of(secret_options(), [&](const SecretOption& row) {
      return row.command == command_ && name.starts_with(row.option) &&
             hide_option(begin, name, row);
    });
  }

  bool hide_option(std::size_t begin, std::string_view name, const SecretOption& row) {
    const auto value = begin + row.option.size();
    const bool exact = name.size() == row.option.size();
    const bool attached = !judged(value).empty();
    if (exact && !attached)
      return row.place != Place::attached && hide_part(skip_blank(value), row.part);
    if (row.option.starts_with("--"))
      return exact && peek(value) == '=' && hide_part(value + 1, row.part);
    return row.place != Place::next && hide_part(value, row.part);
  }

  bool hide_part(std::size_t begin, Part part) {
    if (part == Part::all) return hide_value(begin, word_end(begin));
    const auto mark = judged(begin).find(part == Part::after_colon ? ':' : '%');
    if (mark == kEnd) return false;
    const auto end = word_end(begin);
    const bool quoted = is_quote(text_[begin]) && text_[end - 1] == text_[begin];
    return hide_value(begin + mark + 1, quoted ? end - 1 : end);
  }

  void note_command(std::string_view name) {
    if (words_ == 0) echo_at_ = name == "echo" || name == "printf" ? at_ : kEnd;
    if (reads_password_from_stdin(name)) reads_password();
    const bool known = std::any_of(secret_options().begin(), secret_options().end(),
                                   [&](const SecretOption& row) { return row.command == name; });
    const bool login = name == "login";
    if (login ? has_login_command(command_) : known || name == "sudo" || has_login_command(name)) {
      command_ = name;
    }
  }

  void note_stdin_option(std::string_view name) {
    const bool sudo = command_ == "sudo" && !name.starts_with("--") && name.find('S') != kEnd;
    if (sudo || name == "--password-stdin" || name == "--passphrase-fd" ||
        (command_ == "sudo" && name == "--stdin")) {
      reads_password();
    }
  }

  /// What the pipe or here-string before or after brings is a password.
  void reads_password() {
    reads_password_ = true;
    auto begin = std::min(text_.find_first_not_of(kBlank, piped_.begin), piped_.end);
    while (peek(begin) == '-' && begin < piped_.end) begin = skip_blank(name_end(begin));
    auto end = piped_.end;
    while (end > begin && kBlank.find(text_[end - 1]) != kEnd) --end;
    if (begin < end && !is_plain_value(bare(text_.substr(begin, end - begin))))
      spans_.push_back({begin, end});
    piped_ = {0, 0};
  }

  // -- Marks between words ------------------------------------------------------------------------

  void scan_mark() {
    const char c = text_[at_];
    if (c == '\\' && at_ + 1 < text_.size()) {
      at_ += 2;
      return;
    }
    if (is_quote(c)) note_quote(c);
    if (c == '|' || c == ';' || c == '&' || c == '\n') end_command(c);
    if (reads_password_ && text_.substr(at_, 3) == "<<<") {
      at_ += 3;
      const auto begin = skip_blank(at_);
      hide_value(begin, word_end(begin));
      return;
    }
    ++at_;
  }

  /// An apostrophe within a word opens nothing: "don't".
  void note_quote(char c) {
    if (quote_ == c) {
      quote_ = '\0';
    } else if (quote_ == '\0' && (at_ == 0 || !is_name_character(text_[at_ - 1]))) {
      quote_ = c;
      quote_at_ = at_;
    }
  }

  void end_command(char c) {
    const bool pipe = c == '|' && peek(at_ + 1) != '|' && (at_ == 0 || text_[at_ - 1] != '|');
    piped_ = pipe && echo_at_ != kEnd ? Span{echo_at_, at_} : Span{0, 0};
    echo_at_ = kEnd;
    command_ = {};
    reads_password_ = false;
    words_ = 0;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Span> spans_;
  /// The quote that the place is within, and where it began.
  char quote_ = '\0';
  std::size_t quote_at_ = kEnd;
  /// The words of the command that the place is in.
  std::string_view command_;
  std::string_view previous_;
  std::size_t words_ = 0;
  bool reads_password_ = false;
  /// Behind `echo`, and what it has piped on.
  std::size_t echo_at_ = kEnd;
  Span piped_{0, 0};
  std::size_t url_stop_ = 0;
  std::size_t next_at_ = 0;
};

}  // namespace

std::string redact(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (const auto& span : Scanner(text).scan()) {
    if (span.begin >= done) {
      out.append(text, done, span.begin - done);
      out += kRedacted;
    }
    done = std::max(done, span.end);
  }
  return out.append(text, done);
}

}  // namespace sshx
