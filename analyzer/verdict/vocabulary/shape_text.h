// The fitted shapes of a series: what they are called in plain words, and which of them never end.
#ifndef PLATEAU_ANALYZER_VERDICT_VOCABULARY_SHAPE_TEXT_H_
#define PLATEAU_ANALYZER_VERDICT_VOCABULARY_SHAPE_TEXT_H_

#include <string>
#include <string_view>

namespace plateau::verdict {

// "growth that fades out" for "exponential"; an unknown name is returned as it is.
std::string ShapeText(std::string_view model_name);
// True for shapes that go on growing: what a leak is made of, and what a bounded verdict must exclude.
bool IsEndless(std::string_view model_name);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_VOCABULARY_SHAPE_TEXT_H_
