#include "analyzer/reader/trace_identity.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/reader/trace_reader.h"
#include "preload/trace/decoder.h"

namespace plateau::reader {
namespace {

constexpr size_t kBlocksOfStream = 64;  // the import of a large library fits into them
constexpr int kMaxRank = 100'000'000;

using InfoOf = std::function<std::string(const std::string&)>;

std::optional<int> Number(const InfoOf& info, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    int number = 0;
    if (absl::SimpleAtoi(info(key), &number) && number >= 0 && number <= kMaxRank) return number;
  }
  return std::nullopt;
}

// "dp=1 tp=0" from variables that some launchers set, where no mesh is known.
std::string GroupFromVariables(const InfoOf& info) {
  std::vector<std::string> parts;
  const std::pair<const char*, const char*> variables[] = {{"dp", "env:DATA_PARALLEL_RANK"},
                                                           {"tp", "env:TENSOR_PARALLEL_RANK"},
                                                           {"pp", "env:PIPELINE_PARALLEL_RANK"}};
  for (const auto& [name, variable] : variables) {
    if (const auto place = Number(info, {variable})) parts.push_back(absl::StrCat(name, "=", *place));
  }
  return absl::StrJoin(parts, " ");
}

}  // namespace

TraceIdentity IdentityFrom(const InfoOf& info) {
  TraceIdentity who;
  const std::pair<RankSource, std::optional<int>> ranks[] = {
      {RankSource::kTorch, Number(info, {"job:rank"})},
      {RankSource::kLauncher, Number(info, {"env:RANK"})},
      {RankSource::kScheduler,
       Number(info, {"env:OMPI_COMM_WORLD_RANK", "env:PMIX_RANK", "env:PMI_RANK", "env:SLURM_PROCID"})},
      {RankSource::kLauncher, Number(info, {"env:LOCAL_RANK"})},
      {RankSource::kScheduler, Number(info, {"rank"})}};
  for (const auto& [source, rank] : ranks) {
    if (!rank.has_value()) continue;
    who.rank = rank;
    who.rank_source = source;
    break;
  }
  who.world = Number(
      info, {"job:world", "env:WORLD_SIZE", "env:OMPI_COMM_WORLD_SIZE", "env:PMI_SIZE", "env:SLURM_NTASKS"});
  who.local_rank = Number(info, {"env:LOCAL_RANK", "env:OMPI_COMM_WORLD_LOCAL_RANK", "env:SLURM_LOCALID"});
  who.attempt = Number(info, {"env:TORCHELASTIC_RESTART_COUNT"}).value_or(0) +
                Number(info, {"env:SLURM_RESTART_COUNT"}).value_or(0);
  for (const char* key : {"job", "job:job"}) {
    if (who.job.empty()) who.job = info(key);
  }
  who.host = info("host");
  who.pod = info("pod");
  who.code_version = info("code_version");
  who.role = info("role");
  who.command = info("cmdline");
  std::replace(who.command.begin(), who.command.end(), '\0', ' ');
  who.group = info("job:group");
  if (who.group.empty()) who.group = GroupFromVariables(info);
  return who;
}

absl::StatusOr<TraceIdentity> ReadTraceIdentity(const std::string& path) {
  PLATEAU_ASSIGN_OR_RETURN(const auto reader, TraceReader::Open(path));
  // By time and place in its block: the last value of a key counts, whichever thread wrote it.
  std::map<std::string, std::pair<uint64_t, std::string>> infos;
  for (const StreamIndex& stream : reader->streams()) {
    for (size_t i = 0; i < std::min(stream.blocks.size(), kBlocksOfStream); ++i) {
      LoadedBlock block;
      if (!reader->Load(stream.blocks[i], &block).ok()) continue;
      trace::RecordReader records(block.header, block.payload);
      trace::Record record;
      while (records.Next(&record)) {
        if (record.kind != trace::RecordKind::kInfo) continue;
        auto& [time, value] = infos[std::string(record.info.key)];
        if (record.tsc < time) continue;
        time = record.tsc;
        value = record.info.value;
      }
    }
  }
  return IdentityFrom([&infos](const std::string& key) {
    const auto found = infos.find(key);
    return found == infos.end() ? std::string() : found->second.second;
  });
}

}  // namespace plateau::reader
