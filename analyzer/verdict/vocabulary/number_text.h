// Amounts in words, for everything in this folder that writes sentences.
#ifndef PLATEAU_ANALYZER_VERDICT_VOCABULARY_NUMBER_TEXT_H_
#define PLATEAU_ANALYZER_VERDICT_VOCABULARY_NUMBER_TEXT_H_

#include <string>
#include <string_view>

namespace plateau::verdict {

std::string BytesText(double bytes);                         // "12.3 MiB"; negative values keep their sign
std::string RateText(double bytes_per_step);                 // "12.3 MiB/step"
std::string NumberText(double value);                        // at most one decimal: "2.5", "5,100"
std::string CountText(double count, std::string_view noun);  // "1 step", "2 steps", "1.6 objects"

// True when NumberText() writes "1": what decides between "decides" and "decide".
bool IsOne(double value);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_VOCABULARY_NUMBER_TEXT_H_
