#include "preload/ledger/secrets.h"

#include <cstring>

namespace plateau {
namespace {

constexpr std::string_view kMask = "***";

constexpr std::string_view kSecretWords[] = {
    "token",      "secret",        "secrets", "password",   "passwd",     "pwd",
    "passphrase", "pass",          "apikey",  "key",        "credential", "credentials",
    "auth",       "authkey",       "bearer",  "accesskey",  "secretkey",  "signature",
    "authtoken",  "authorization", "cookie",  "privatekey", "sas",
};

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

// A piece of key characters: masked when it begins like a key or has a long run of letters and digits.
void PutPiece(std::string_view piece, Output* out) {
  for (std::string_view beginning : kBeginnings) {
    if (StartsWith(piece, beginning) && piece.size() >= beginning.size() + kLeastKeyBytes) {
      out->Put(beginning);
      return out->Put(kMask);
    }
  }
  while (!piece.empty()) {
    size_t end = 0;
    while (end < piece.size() && IsAlphanumeric(piece[end])) ++end;
    out->Put(LooksRandom(piece.substr(0, end)) ? kMask : piece.substr(0, end));
    piece.remove_prefix(end);
    if (piece.empty()) return;
    out->Put(piece.substr(0, 1));
    piece.remove_prefix(1);
  }
}

// Any text: URLs with passwords and secret parameters, keys and random strings.
void PutText(std::string_view text, Output* out) {
  size_t i = 0;
  while (i < text.size()) {
    if (const std::string_view rest = text.substr(i); StartsWith(rest, "://")) {
      out->Put("://");
      i += 3;
      const std::string_view authority = text.substr(i, text.find_first_of("/?# \t\n", i) - i);
      const size_t at = authority.rfind('@');
      if (at == std::string_view::npos) continue;
      const size_t colon = authority.substr(0, at).find(':');
      if (colon != std::string_view::npos) {
        out->Put(authority.substr(0, colon + 1));
        out->Put(kMask);
      } else {
        out->Put(at >= kLeastUserInfoBytes ? kMask : authority.substr(0, at));
      }
      i += at;
      continue;
    } else if (EqualIgnoringCase(rest.substr(0, 7), "bearer ")) {
      out->Put(rest.substr(0, 7));
      out->Put(kMask);
      i += 7;
      while (i < text.size() && text[i] != ' ' && text[i] != '"' && text[i] != '\'') ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsKeyCharacter(text[end])) ++end;
    if (end == i) {
      out->Put(text.substr(i++, 1));
      continue;
    }
    // name=value inside of something larger: ?token=..., a.b.password=...
    const std::string_view piece = text.substr(i, end - i);
    const size_t equals = piece.find('=');
    if (equals != std::string_view::npos && equals > 0 && IsSecretName(piece.substr(0, equals))) {
      const size_t value_end = text.find_first_of("& \t\n", i + equals + 1);
      const std::string_view value = text.substr(i + equals + 1, value_end - (i + equals + 1));
      out->Put(piece.substr(0, equals + 1));
      out->Put(IsHarmless(value) ? value : kMask);
      i += equals + 1 + value.size();
      continue;
    }
    PutPiece(piece, out);
    i = end;
  }
}

}  // namespace

bool IsSecretName(std::string_view name) {
  const std::string_view last = LastWord(name);
  for (std::string_view word : kSecretWords) {
    if (EqualIgnoringCase(last, word)) return true;
  }
  return false;
}

size_t MaskArguments(std::string_view arguments, char* out, size_t capacity) {
  Output output(out, capacity);
  bool is_value = false;  // of the option before it
  while (!arguments.empty()) {
    const size_t end = arguments.find('\0');
    const std::string_view argument = arguments.substr(0, end);
    const bool is_option = argument.size() > 1 && argument[0] == '-';
    if (is_value && !is_option && !IsHarmless(argument)) {
      output.Put(kMask);
    } else {
      PutText(argument, &output);
    }
    is_value = is_option && argument.find('=') == std::string_view::npos && StartsWith(argument, "--") &&
               IsSecretName(argument);
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
