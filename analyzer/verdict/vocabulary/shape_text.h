// Plain words for what the method finds: the fitted shapes of a series, which of them never end, and kinds of events.
#ifndef PLATEAU_ANALYZER_VERDICT_VOCABULARY_SHAPE_TEXT_H_
#define PLATEAU_ANALYZER_VERDICT_VOCABULARY_SHAPE_TEXT_H_

#include <string>
#include <string_view>

namespace plateau::verdict {

// "growth that fades out" for "exponential"; an unknown name is returned as it is.
std::string ShapeText(std::string_view model_name);
// True for shapes that go on growing: what a leak is made of, and what a bounded verdict must exclude.
bool IsEndless(std::string_view model_name);

// "evaluation" for "eval", "jump" for jumps that nobody marked.
std::string EventText(std::string_view event);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_VOCABULARY_SHAPE_TEXT_H_
