#include "analyzer/verdict/vocabulary/shape_text.h"

#include <utility>

namespace plateau::verdict {

std::string ShapeText(std::string_view model_name) {
  static constexpr std::pair<std::string_view, const char*> kWords[] = {
      // What is retained per step.
      {"zero", "nothing retained"},
      {"constant", "the same amount retained in every step"},
      {"delayed_constant", "nothing at first, then the same amount in every step"},
      {"two_levels", "one rate, then another"},
      {"box", "a steady rate that has ended"},
      {"delayed_box", "a steady rate that began late and has ended"},
      {"exponential", "growth that fades out"},
      {"exponential_plus_constant", "a fading start with a steady rest"},
      {"power_law", "growth that slows down more and more"},
      // A level over the steps.
      {"flat", "no growth"},
      {"line", "steady growth"},
      {"hinge", "steady growth, then none"},
      {"broken_line", "two straight lines"},
      {"flat_then_line", "no growth at first, then steady growth"},
      {"step", "one jump"},
      {"saturation", "growth that levels off"},
      {"saturation_plus_line", "growth that levels off beside steady growth"},
      {"logarithm", "growth that slows down more and more"},
      {"event_stairs", "a step at every evaluation or checkpoint"},
      {"event_step", "one jump at an evaluation or checkpoint"},
      {"epoch_stairs", "a step at every epoch"},
  };
  for (const auto& [name, words] : kWords) {
    if (name == model_name) return words;
  }
  if (model_name.starts_with("levels_"))
    return std::string(model_name.substr(7)) + " levels with jumps between";
  return std::string(model_name);
}

bool IsEndless(std::string_view model_name) {
  for (std::string_view name :
       {"constant", "delayed_constant", "two_levels", "exponential_plus_constant", "line", "flat_then_line",
        "saturation_plus_line", "event_stairs", "epoch_stairs"}) {
    if (name == model_name) return true;
  }
  return false;
}

std::string EventText(std::string_view event) {
  if (event.empty()) return "event";
  if (event == "eval") return "evaluation";
  if (event == "periodic (unmarked)") return "jump";
  return std::string(event);
}

}  // namespace plateau::verdict
