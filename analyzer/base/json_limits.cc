#include "analyzer/base/json_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace plateau {

absl::Status CheckJsonLimits(std::string_view text) {
  if (text.size() > kMaxJsonBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(text.size(), " bytes of JSON are more than the ", kMaxJsonBytes, " that are read"));
  }
  // Every value but the first of its kind stands behind a comma, a colon or an opening bracket.
  size_t values = 1, objects = 0, depth = 0, deepest = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          if (text[i] == '\\') ++i;
        }
        break;
      case '[':
      case '{':
        deepest = std::max(deepest, ++depth);
        objects += text[i] == '{';
        ++values;
        break;
      case ']':
      case '}':
        depth -= depth > 0;
        break;
      case ',':
      case ':':
        ++values;
        break;
      default:
        break;
    }
  }
  if (deepest > kMaxJsonDepth) {
    return absl::ResourceExhaustedError(
        absl::StrCat("JSON nested ", deepest, " deep; at most ", kMaxJsonDepth, " are read"));
  }
  if (values > kMaxJsonValues) {
    return absl::ResourceExhaustedError(
        absl::StrCat("about ", values, " values of JSON; at most ", kMaxJsonValues, " are read"));
  }
  if (objects > kFreeJsonObjects + text.size() / kLeastBytesPerJsonObject) {
    return absl::ResourceExhaustedError(absl::StrCat(objects, " objects in ", text.size(),
                                                     " bytes of JSON; those that are read have ",
                                                     kLeastBytesPerJsonObject, " bytes and more"));
  }
  return absl::OkStatus();
}

}  // namespace plateau
