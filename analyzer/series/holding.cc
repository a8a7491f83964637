#include "analyzer/series/holding.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plateau::series {
namespace {

// "1,240", and "0.25" of what is no whole number.
std::string Count(double value) {
  char text[40];
  if (value < 10 && value != std::round(value)) {
    std::snprintf(text, sizeof text, "%.2g", value);
    return text;
  }
  std::snprintf(text, sizeof text, "%.0f", std::min(value, 1e18));
  std::string out = text;
  for (size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

}  // namespace

const char* HeldByName(HeldBy end) {
  switch (end) {
    case HeldBy::kRoot:
      return "path";
    case HeldBy::kNative:
      return "native";
    case HeldBy::kGarbage:
      return "garbage";
    case HeldBy::kLost:
      return "lost";
  }
  return "";
}

const char* RootOwnerName(RootOwner owner) {
  switch (owner) {
    case RootOwner::kUser:
      return "user";
    case RootOwner::kLibrary:
      return "library";
    case RootOwner::kInterpreter:
      return "interpreter";
    case RootOwner::kNative:
      return "native";
  }
  return "";
}

std::optional<double> HolderPath::ItemsPerStep() const {
  if (lengths.size() < 2) return std::nullopt;
  const LengthReading& last = lengths.back();
  const LengthReading& before = lengths[lengths.size() - 2];
  if (last.step <= before.step) return std::nullopt;
  return (last.items - before.items) / (last.step - before.step);
}

std::string ContainerText(const HolderPath& path) {
  if (path.container.empty()) return path.text;
  std::string inside = path.container_type;
  const auto add = [&inside](const std::string& what) { inside += (inside.empty() ? "" : ", ") + what; };
  if (!path.lengths.empty()) {
    const LengthReading& last = path.lengths.back();
    const std::string items = Count(last.items);
    const char* noun = last.items == 1 && last.bound == 0 ? " item" : " items";
    add(last.bound > 0 ? items + " of at most " + Count(last.bound) + noun : items + noun);
    if (const std::optional<double> rate = path.ItemsPerStep(); rate && *rate >= 0.005) {
      add("+" + Count(*rate >= 9.5 ? std::round(*rate) : *rate) + " a step");
    }
  }
  return inside.empty() ? path.container : path.container + " (" + inside + ")";
}

}  // namespace plateau::series
