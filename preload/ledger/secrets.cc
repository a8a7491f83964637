#include "preload/ledger/secrets.h"

#include <cstring>

namespace plateau {
namespace {

constexpr std::string_view kMask = "***";

constexpr std::string_view kSecretWords[] = {
    "token",      "secret",    "secrets",   "password",   "passwd",      "pwd",           "passphrase",
    "pass",       "apikey",    "key",       "credential", "credentials", "auth",          "authkey",
    "bearer",     "accesskey", "secretkey", "signature",  "authtoken",   "authorization", "cookie",
    "privatekey", "sas",       "sig",       "psk",
};

// What stands between the name Authorization and its value.
constexpr std::string_view kSchemes[] = {"basic ", "bearer ", "token ", "digest ", "apikey "};

// Options whose value is a name, a colon and a password.
constexpr std::string_view kUserOptions[] = {"-u", "--user", "--proxy-user"};

// What services put in front of their keys.
constexpr std::string_view kBeginnings[] = {
    "sk-",  "sk_live_",    "rk_live_", "hf_",   "ghp_",  "gho_",    "ghs_",
    "ghu_", "github_pat_", "glpat-",   "xoxb-", "xoxp-", "xoxa-",   "AKIA",
    "ASIA", "AIza",        "eyJ",      "pypi-", "npm_",  "dop_v1_", "SG.",
};
constexpr size_t kLeastKeyBytes = 16;     // behind such a beginning
constexpr size_t kLeastRandomBytes = 32;  // without one
constexpr size_t kLeastUserInfoBytes = 16;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return Lower(c) >= 'a' && Lower(c) <= 'z'; }
bool IsAlphanumeric(char c) { return IsDigit(c) || IsLetter(c); }
bool IsKeyCharacter(char c) {
  return IsAlphanumeric(c) || c == '_' || c == '-' || c == '+' || c == '=' || c == '.';
}

bool StartsWith(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Lower(a[i]) != Lower(b[i])) return false;
  }
  return true;
}

// Numbers and words that say yes or no: --max-token 512, --auth none.
bool IsHarmless(std::string_view value) {
  for (std::string_view word : {"", "true", "false", "none", "null", "yes", "no", "on", "off"}) {
    if (EqualIgnoringCase(value, word)) return true;
  }
  for (char c : value) {
    if (!IsDigit(c) && c != '.' && c != ',') return false;
  }
  return value.size() < 8;
}

// "hub-token", "HUB_TOKEN", "hub.token" and "hubToken" end in "token".
std::string_view LastWord(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && IsAlphanumeric(name[begin - 1])) {
    --begin;
    const bool is_hump = begin > 0 && name[begin] >= 'A' && name[begin] <= 'Z' && name[begin - 1] >= 'a' &&
                         name[begin - 1] <= 'z';
    if (is_hump) break;
  }
  return name.substr(begin);
}

class Output {
 public:
  Output(char* out, size_t capacity) : out_(out), capacity_(capacity) {}
  void Put(std::string_view text) {
    const size_t size = text.size() < capacity_ - used_ ? text.size() : capacity_ - used_;
    std::memcpy(out_ + used_, text.data(), size);
    used_ += size;
  }
  size_t used() const { return used_; }

 private:
  char* const out_;
  const size_t capacity_;
  size_t used_ = 0;
};

bool LooksRandom(std::string_view run) {
  if (run.size() < kLeastRandomBytes) return false;
  size_t digits = 0, letters = 0;
  for (char c : run) {
    digits += IsDigit(c);
    letters += IsLetter(c);
  }
  return digits >= 4 && letters >= 4;
}

// What a service puts in front of its keys, when `piece` begins with it and is long enough; empty otherwise.
std::string_view KeyBeginning(std::string_view piece) {
  for (std::string_view beginning : kBeginnings) {
    if (StartsWith(piece, beginning) && piece.size() >= beginning.size() + kLeastKeyBytes) return beginning;
  }
  return {};
}

// A piece of key characters: masked from where it begins like a key, and where it has a long run of letters and digits.
void PutPiece(std::string_view piece, Output* out) {
  bool may_begin = true;
  while (!piece.empty()) {
    if (const std::string_view beginning = may_begin ? KeyBeginning(piece) : ""; !beginning.empty()) {
      out->Put(beginning);
      return out->Put(kMask);
    }
    size_t end = 0;
    while (end < piece.size() && IsAlphanumeric(piece[end])) ++end;
    out->Put(LooksRandom(piece.substr(0, end)) ? kMask : piece.substr(0, end));
    piece.remove_prefix(end);
    if (piece.empty()) return;
    may_begin = piece[0] == '=';
    out->Put(piece.substr(0, 1));
    piece.remove_prefix(1);
  }
}

bool IsQuote(char c) { return c == '"' || c == '\''; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// Where the name that ends in front of `i` is followed by its value, as in `name=`, `"name": "`, `name := b'` and `Name: Basic `:
// the beginning of the value, else 0.
size_t ValueBegin(std::string_view text, size_t i) {
  while (i < text.size() && (IsQuote(text[i]) || text[i] == '\\' || text[i] == ']')) ++i;
  while (i < text.size() && IsSpace(text[i])) ++i;
  const size_t separator = i;
  while (i < text.size() && (text[i] == '=' || text[i] == ':')) ++i;
  if (i == separator || StartsWith(text.substr(i), "//")) return 0;
  while (i < text.size() && IsSpace(text[i])) ++i;
  for (const std::string_view scheme : kSchemes) {
    if (EqualIgnoringCase(text.substr(i, scheme.size()), scheme)) return i + scheme.size();
  }
  return i;
}

// A value up to its closing quote, when it has quotes. Without them it takes all of `text` when `is_whole`, else what is in front of
// the next space or ampersand. Writes it masked and returns where it ends.
size_t PutSecretValue(std::string_view text, size_t begin, bool is_whole, Output* out) {
  size_t i = begin;
  while (i < text.size() && i < begin + 2 && IsLetter(text[i])) ++i;  // b"..."
  const size_t opening = i;
  while (i < text.size() && (IsQuote(text[i]) || text[i] == '\\')) ++i;
  const bool has_quotes = i > opening && IsQuote(text[i - 1]);
  size_t end;
  if (!has_quotes) {
    i = begin;
    end = is_whole ? text.size() : text.find_first_of("& \t\n", begin);
  } else if (text[opening] == '\\') {
    end = text.find('\\', i);
  } else {
    end = i;
    while (end < text.size() && text[end] != text[i - 1]) end += text[end] == '\\' ? 2 : 1;
  }
  end = end < text.size() ? end : text.size();
  out->Put(text.substr(begin, i - begin));
  const std::string_view value = text.substr(i, end - i);
  out->Put(IsHarmless(value) ? value : kMask);
  return end;
}

// Where the value of a secret begins that the piece text[begin, end) names: behind an equals sign in it, or behind all of it. 0 when it
// names none.
size_t NamedValue(std::string_view text, size_t begin, size_t end) {
  const std::string_view piece = text.substr(begin, end - begin);
  for (size_t k = piece.find('='); k != std::string_view::npos; k = piece.find('=', k + 1)) {
    if (k > 0 && IsSecretName(piece.substr(0, k))) return ValueBegin(text, begin + k);
  }
  return IsSecretName(piece) ? ValueBegin(text, end) : 0;
}

// Writes the password of an address whose "://" ends in front of `i` masked, and returns how far it came.
size_t PutAuthority(std::string_view text, size_t i, Output* out) {
  const std::string_view authority = text.substr(i, text.find_first_of("/?# \t\n", i) - i);
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return i;
  const size_t colon = authority.substr(0, at).find(':');
  if (colon != std::string_view::npos) {
    out->Put(authority.substr(0, colon + 1));
    out->Put(kMask);
  } else {
    out->Put(at >= kLeastUserInfoBytes ? kMask : authority.substr(0, at));
  }
  return i + at;
}

// Any text: URLs with passwords and secret parameters, names with their values, keys and random strings.
void PutText(std::string_view text, Output* out) {
  size_t i = 0;
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    if (StartsWith(rest, "://")) {
      out->Put("://");
      i = PutAuthority(text, i + 3, out);
      continue;
    }
    if (EqualIgnoringCase(rest.substr(0, 7), "bearer ")) {
      out->Put(rest.substr(0, 7));
      out->Put(kMask);
      i += 7;
      while (i < text.size() && text[i] != ' ' && !IsQuote(text[i])) ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsKeyCharacter(text[end])) ++end;
    if (end == i) {
      out->Put(text.substr(i++, 1));
      continue;
    }
    if (const size_t value = NamedValue(text, i, end); value > 0) {
      out->Put(text.substr(i, value - i));
      i = PutSecretValue(text, value, i == 0, out);
      continue;
    }
    PutPiece(text.substr(i, end - i), out);
    i = end;
  }
}

}  // namespace

bool IsSecretName(std::string_view name) {
  if (StartsWith(name, "-D")) name.remove_prefix(2);  // -Dpassword=...
  const std::string_view last = LastWord(name);
  for (std::string_view word : kSecretWords) {
    if (EqualIgnoringCase(last, word)) return true;
  }
  return false;
}

size_t MaskArguments(std::string_view arguments, char* out, size_t capacity) {
  Output output(out, capacity);
  bool is_value = false;  // of the option before it
  bool is_user = false;   // with a password behind a colon
  while (!arguments.empty()) {
    const size_t end = arguments.find('\0');
    const std::string_view argument = arguments.substr(0, end);
    const bool is_option = argument.size() > 1 && argument[0] == '-';
    if (is_value && !is_option && !IsHarmless(argument)) {
      output.Put(kMask);
    } else if (const size_t colon = argument.find(':');
               is_user && colon != std::string_view::npos && !IsHarmless(argument.substr(colon + 1))) {
      output.Put(argument.substr(0, colon + 1));
      output.Put(kMask);
    } else {
      PutText(argument, &output);
    }
    is_value = is_option && argument.find('=') == std::string_view::npos && IsSecretName(argument);
    is_user = false;
    for (const std::string_view option : kUserOptions) is_user = is_user || argument == option;
    if (end == std::string_view::npos) break;
    output.Put({"\0", 1});
    arguments.remove_prefix(end + 1);
  }
  return output.used();
}

size_t MaskValue(std::string_view name, std::string_view value, char* out, size_t capacity) {
  Output output(out, capacity);
  if (IsSecretName(name) && !IsHarmless(value)) {
    output.Put(kMask);
  } else {
    PutText(value, &output);
  }
  return output.used();
}

}  // namespace plateau
