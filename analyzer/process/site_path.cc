#include "analyzer/process/site_path.h"

#include "absl/strings/match.h"
#include "analyzer/replay/definitions/generated_code.h"

namespace plateau::process {

SitePath PathToAllocation(const std::vector<const symbols::Frame*>& stack, const symbols::Frame* site) {
  SitePath path;
  for (const symbols::Frame* frame : stack) {
    // Several places of one line are one site.
    if (frame->line == site->line && frame->file == site->file && frame->function == site->function)
      return path;
    if (frame->kind != "python") continue;
    if (absl::StartsWith(frame->file, "<frozen importlib")) path.is_import = true;
    const bool is_written = !replay::IsGeneratedPython(frame->file, frame->function, false);
    if (path.library == nullptr && is_written) path.library = frame;
  }
  return {};  // the site is not in this stack
}

}  // namespace plateau::process
