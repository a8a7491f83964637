#include "analyzer/process/names/site_path.h"

#include "absl/strings/match.h"
#include "analyzer/replay/definitions/generated_code.h"

namespace plateau::process {

SitePath PathToAllocation(const std::vector<const symbols::Frame*>& stack, const symbols::Frame* site,
                          bool site_is_users) {
  SitePath path;
  bool has_site = false;
  for (const symbols::Frame* frame : stack) {
    // Several places of one line are one site.
    has_site |= frame->line == site->line && frame->file == site->file && frame->function == site->function;
    if (has_site && site_is_users) return path;
    if (frame->kind != "python") continue;
    if (absl::StartsWith(frame->file, "<frozen importlib")) path.is_import = true;
    const bool is_written = !replay::IsGeneratedPython(frame->file, frame->function, false);
    if (!has_site && path.library == nullptr && is_written) path.library = frame;
  }
  return has_site ? path : SitePath{};  // the site may not be in this stack
}

}  // namespace plateau::process
