// Whether a JSON text may be turned into values: those take up to fifty times its bytes, and a row that is made of an object takes a kilobyte
// even where its text is `{}`. So objects must be 32 bytes long on average, beyond the first 65,536; those of reports have 100 and more.
//
// Looks at the text once, without a copy. What is wrong with it otherwise is the parser's business.
#ifndef PLATEAU_ANALYZER_BASE_JSON_LIMITS_H_
#define PLATEAU_ANALYZER_BASE_JSON_LIMITS_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace plateau {

inline constexpr size_t kMaxJsonBytes = size_t{256} << 20;
inline constexpr size_t kMaxJsonValues = size_t{8} << 20;
inline constexpr size_t kMaxJsonDepth = 128;
inline constexpr size_t kFreeJsonObjects = 65536;
inline constexpr size_t kLeastBytesPerJsonObject = 32;

// ResourceExhausted, with the limit and what the text has, when it is beyond one of them.
absl::Status CheckJsonLimits(std::string_view text);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_JSON_LIMITS_H_
