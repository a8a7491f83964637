#include "analyzer/report/text/device_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/report/text_grid.h"
#include "analyzer/report/units.h"

namespace plateau::report {
namespace {

constexpr size_t kShownRefusals = 5;

std::string Heading(const char* title, const TextOptions& text) {
  return text.color ? absl::StrCat("\n\x1b[1m", title, "\x1b[0m\n") : absl::StrCat("\n", title, "\n");
}

std::string DeviceName(int device) { return device < 0 ? "device ?" : absl::StrCat("device ", device); }

// The first line starts at the margin, the others below its text.
void AppendWrapped(const std::string& sentence, const TextOptions& text, std::string* out) {
  bool is_first = true;
  for (const std::string& line : WrapText(Printable(sentence), text.columns - 2)) {
    absl::StrAppend(out, is_first ? "" : "  ", line, "\n");
    is_first = false;
  }
}

}  // namespace

std::string TorchCheckSentence(const Device& device) {
  if (!device.torch_check) return "";
  const TorchComparison& c = *device.torch_check;
  std::string out = absl::StrCat(DeviceName(device.device), ": torch's own totals were compared at ",
                                 HumanCount(c.compared), " blocks: ");
  if (c.mismatches == 0) {
    absl::StrAppend(&out, "equal all along");
  } else {
    absl::StrAppend(&out, "they parted ", HumanCount(c.mismatches), c.mismatches == 1 ? " time" : " times",
                    ", last by ", FormatBytes(c.last_difference_bytes));
  }
  if (c.blocks_outside_segments > 0) {
    absl::StrAppend(&out, "; ", HumanCount(c.blocks_outside_segments),
                    " blocks lie in memory that was not seen being obtained");
  }
  if (c.reserved_exceeded > 0) {
    absl::StrAppend(&out, "; torch claimed more than the driver gave ", HumanCount(c.reserved_exceeded),
                    c.reserved_exceeded == 1 ? " time" : " times");
  }
  return out;
}

std::string RefusalSentence(const OutOfMemory& o) {
  std::string out = absl::StrCat(DeviceName(o.device), " refused ", FormatBytes(o.requested_bytes),
                                 " at step ", HumanStep(o.step), ", asked for by ", o.site);
  absl::StrAppend(&out, " (", o.level == "torch" ? "torch's allocator" : o.call,
                  "): ", FormatBytes(o.levels.reserved_bytes), " reserved, ",
                  FormatBytes(o.levels.tensor_bytes), " in tensors");
  if (o.levels.limit_bytes > 0) {
    absl::StrAppend(&out, ", ", FormatBytes(o.levels.driver_used_bytes), " of ",
                    FormatBytes(o.levels.limit_bytes), " in use by all processes");
  }
  if (o.levels.free_in_segments_bytes > 0) {
    absl::StrAppend(&out, ", ", FormatBytes(o.levels.free_in_segments_bytes),
                    " free inside torch's segments with ", FormatBytes(o.levels.largest_free_bytes),
                    " in one piece");
  }
  return out;
}

std::string WriteDevices(const ReportModel& model, const TextOptions& text) {
  std::string out;
  if (!model.devices.empty()) {
    TextGrid grid({{"Device", false},
                   {"reserved"},
                   {"tensors"},
                   {"free in segments", true, 2},
                   {"largest piece", true, 3},
                   {"fragmentation"},
                   {"peak reserved", true, 1}});
    for (const Device& d : model.devices) {
      grid.Add(
          {DeviceName(d.device), FormatBytes(d.levels.reserved_bytes), FormatBytes(d.levels.tensor_bytes),
           FormatBytes(d.levels.free_in_segments_bytes), FormatBytes(d.levels.largest_free_bytes),
           absl::StrFormat("%.0f %%", 100 * d.levels.fragmentation), FormatBytes(d.reserved_peak_bytes)});
    }
    absl::StrAppend(&out, Heading("Devices", text), grid.Write(text.columns));
    for (const Device& d : model.devices) {
      if (const std::string check = TorchCheckSentence(d); !check.empty()) AppendWrapped(check, text, &out);
    }
  }
  if (!model.out_of_memory.empty()) {
    absl::StrAppend(&out, Heading("Out of memory", text));
    for (size_t i = 0; i < model.out_of_memory.size() && i < kShownRefusals; ++i) {
      AppendWrapped(RefusalSentence(model.out_of_memory[i]), text, &out);
    }
    if (model.out_of_memory_count > static_cast<int64_t>(kShownRefusals)) {
      absl::StrAppend(&out, HumanCount(model.out_of_memory_count - kShownRefusals), " more were refused\n");
    }
  }
  return out;
}

}  // namespace plateau::report
