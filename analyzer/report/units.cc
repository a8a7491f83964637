#include "analyzer/report/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plateau::report {
namespace {

std::string ThreeDigits(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95) return absl::StrFormat("%.0f", value);
  if (size >= 9.995) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.2f", value);
}

// Bytes of a UTF-8 sequence that starts with `lead`; 1 for anything malformed.
size_t SequenceLength(unsigned char lead) {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  if (lead >= 0xc0) return 2;
  return 1;
}

}  // namespace

std::string HumanRate(double bytes_per_step) { return absl::StrCat(FormatBytes(bytes_per_step), "/step"); }

std::string HumanCount(double count) {
  if (!std::isfinite(count)) return "unknown";
  const double size = std::fabs(count);
  if (size >= 1e9) return absl::StrCat(ThreeDigits(count / 1e9), " G");
  if (size >= 1e6) return absl::StrCat(ThreeDigits(count / 1e6), " M");
  std::string digits = absl::StrFormat("%.0f", count);
  for (int at = static_cast<int>(digits.size()) - 3; at > (digits[0] == '-' ? 1 : 0); at -= 3)
    digits.insert(at, ",");
  return digits;
}

std::string HumanStep(double step) {
  if (std::fabs(step - std::round(step)) < 0.05 || step >= 1000) return HumanCount(std::round(step));
  return absl::StrFormat("%.1f", step);
}

std::string Sparkline(const std::vector<double>& values, int width, std::optional<double> floor) {
  static constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.empty() || width <= 0) return "";
  const size_t columns = std::min<size_t>(width, values.size());
  std::vector<double> highs(columns);
  for (size_t c = 0; c < columns; ++c) {
    const size_t from = c * values.size() / columns;
    const size_t to = std::max(from + 1, (c + 1) * values.size() / columns);
    highs[c] = *std::max_element(values.begin() + from, values.begin() + to);
  }
  double low = *std::min_element(highs.begin(), highs.end());
  if (floor.has_value()) low = std::min(low, *floor);
  const double high = *std::max_element(highs.begin(), highs.end());
  std::string line;
  for (double value : highs) {
    const double part = high > low ? (value - low) / (high - low) : 0;
    line += kBlocks[std::clamp(static_cast<int>(std::lround(part * 7)), 0, 7)];
  }
  return line;
}

namespace {

// Columns of one letter, given as its UTF-8 bytes: 2 for what terminals draw wide (CJK, emoji), 0 for marks
// that sit on the letter before. Broken bytes count 1.
int LetterWidth(absl::string_view bytes) {
  uint32_t letter = static_cast<unsigned char>(bytes[0]);
  if (letter < 0x80) return 1;
  letter &= bytes.size() == 2 ? 0x1f : bytes.size() == 3 ? 0x0f : 0x07;
  for (size_t i = 1; i < bytes.size(); ++i)
    letter = letter << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3f);
  const auto within = [letter](uint32_t first, uint32_t last) { return letter >= first && letter <= last; };
  if (within(0x300, 0x36f) || within(0x200b, 0x200f) || within(0x20d0, 0x20ff) || within(0xfe00, 0xfe0f))
    return 0;
  const bool is_wide = within(0x1100, 0x115f) || within(0x2e80, 0x303e) || within(0x3041, 0xa4cf) ||
                       within(0xac00, 0xd7a3) || within(0xf900, 0xfaff) || within(0xfe30, 0xfe6f) ||
                       within(0xff00, 0xff60) || within(0xffe0, 0xffe6) || within(0x1f300, 0x1f64f) ||
                       within(0x1f680, 0x1f6ff) || within(0x1f900, 0x1f9ff) || within(0x1fa70, 0x1faff) ||
                       within(0x20000, 0x3fffd);
  return is_wide ? 2 : 1;
}

std::vector<absl::string_view> Letters(absl::string_view text) {
  std::vector<absl::string_view> letters;
  for (size_t at = 0; at < text.size();) {
    const size_t size = std::min(SequenceLength(text[at]), text.size() - at);
    letters.push_back(text.substr(at, size));
    at += size;
  }
  return letters;
}

}  // namespace

int DisplayWidth(absl::string_view text) {
  int width = 0;
  for (const absl::string_view letter : Letters(text)) width += LetterWidth(letter);
  return width;
}

std::string MiddleEllipsis(absl::string_view text, int columns) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  if (columns <= 3) return std::string(std::max(columns, 0), '.');
  const std::vector<absl::string_view> letters = Letters(text);
  const int keep = columns - 3;
  size_t head = 0, tail = letters.size();
  int used = 0;
  while (used + LetterWidth(letters[head]) <= keep / 3) used += LetterWidth(letters[head++]);
  while (used + LetterWidth(letters[tail - 1]) <= keep) used += LetterWidth(letters[--tail]);
  std::string out;
  for (size_t i = 0; i < head; ++i) absl::StrAppend(&out, letters[i]);
  out += "...";
  for (size_t i = tail; i < letters.size(); ++i) absl::StrAppend(&out, letters[i]);
  return out;
}

std::string SiteEllipsis(absl::string_view site, int columns) {
  constexpr absl::string_view kIn = " in ";
  constexpr int kLeastOfAFunction = 8;
  if (DisplayWidth(site) <= columns) return std::string(site);
  const size_t in = site.find(kIn);
  const size_t colon = site.substr(0, in).rfind(':');
  const bool has_line =
      in != absl::string_view::npos && colon != absl::string_view::npos &&
      site.substr(colon + 1, in - colon - 1).find_first_not_of("0123456789") == absl::string_view::npos;
  if (!has_line) return MiddleEllipsis(site, columns);
  const absl::string_view function = site.substr(in + kIn.size());
  // A whole place says more than two halves.
  const int whole_place = DisplayWidth(site.substr(0, in));
  if (whole_place <= columns && columns - whole_place < static_cast<int>(kIn.size()) + kLeastOfAFunction)
    return std::string(site.substr(0, in));
  const int function_room = std::min(DisplayWidth(function), kLeastOfAFunction);
  const int place_room = columns - function_room - static_cast<int>(kIn.size());
  const int line_width = DisplayWidth(site.substr(colon, in - colon));
  if (place_room < line_width + kLeastOfAFunction) return MiddleEllipsis(site, columns);
  const std::string place = absl::StrCat(MiddleEllipsis(site.substr(0, colon), place_room - line_width),
                                         site.substr(colon, in - colon), kIn);
  return place + MiddleEllipsis(function, columns - DisplayWidth(place));
}

std::vector<std::string> WrapText(absl::string_view text, int columns) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const size_t start = text.find_first_not_of(' ', at);
    if (start == absl::string_view::npos) break;
    const size_t end = std::min(text.find(' ', start), text.size());
    const absl::string_view word = text.substr(start, end - start);
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > columns) {
      lines.push_back(line);
      line.clear();
    }
    if (!line.empty()) line += ' ';
    absl::StrAppend(&line, word);
    at = end;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string ValidUtf8(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t size = lead < 0x80   ? 1
                        : lead < 0xc2 ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
    bool valid = size > 0 && i + size <= text.size();
    for (size_t k = 1; valid && k < size; ++k)
      valid = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    if (valid && size >= 3) {
      const auto second = static_cast<unsigned char>(text[i + 1]);
      // Overlong forms, surrogates, and what lies above U+10FFFF.
      valid = !(lead == 0xe0 && second < 0xa0) && !(lead == 0xed && second >= 0xa0) &&
              !(lead == 0xf0 && second < 0x90) && !(lead == 0xf4 && second >= 0x90);
    }
    if (!valid) {
      out += "\xef\xbf\xbd";
      ++i;
      continue;
    }
    absl::StrAppend(&out, text.substr(i, size));
    i += size;
  }
  return out;
}

std::string Printable(absl::string_view text) {
  std::string out = ValidUtf8(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = c == '\t' ? ' ' : '?';
  }
  // U+0080 to U+009F are control characters too: C2 80 .. C2 9F.
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    const auto next = static_cast<unsigned char>(out[i + 1]);
    if (static_cast<unsigned char>(out[i]) == 0xc2 && next >= 0x80 && next < 0xa0) out.replace(i, 2, "?");
  }
  // Marks that turn the direction of writing would let a name rearrange the line: U+202A to 202E, 2066 to
  // 2069.
  for (size_t i = 0; i + 2 < out.size(); ++i) {
    const absl::string_view letter = absl::string_view(out).substr(i, 3);
    const bool turns = (letter >= "\xe2\x80\xaa" && letter <= "\xe2\x80\xae") ||
                       (letter >= "\xe2\x81\xa6" && letter <= "\xe2\x81\xa9");
    if (turns) out.replace(i, 3, "?");
  }
  return out;
}

}  // namespace plateau::report
