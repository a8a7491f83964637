// Every exporter on every simulated run: what is written is read back and adds up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>
#include <zlib.h>

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/report/export/csv_export.h"
#include "analyzer/report/export/perfetto_export.h"
#include "analyzer/report/export/pprof_export.h"
#include "analyzer/report/export/pprof_profile.pb.h"
#include "analyzer/report/export/sqlite_export.h"
#include "analyzer/report/export/stack_text_export.h"
#include "analyzer/report/export/track_trace.pb.h"
#include "analyzer/report/json/json_report.h"
#include "analyzer/report/page/html_report.h"
#include "analyzer/report/text/text_report.h"
#include "analyzer/report/units.h"
#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

using nlohmann::json;

std::string Gunzip(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out;
  std::string part(1 << 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  EXPECT_EQ(result, Z_STREAM_END);
  return out;
}

pprof::Profile ReadPprof(const ReportModel& model) {
  const absl::StatusOr<std::string> bytes = WritePprof(model);
  EXPECT_TRUE(bytes.ok());
  pprof::Profile profile;
  EXPECT_TRUE(profile.ParseFromString(Gunzip(*bytes)));
  return profile;
}

std::map<std::string, int64_t> PprofSums(const pprof::Profile& profile) {
  std::map<std::string, int64_t> sums;
  for (const pprof::Sample& sample : profile.sample()) {
    for (int i = 0; i < sample.value_size(); ++i) {
      sums[profile.string_table(static_cast<int>(profile.sample_type(i).type()))] += sample.value(i);
    }
  }
  return sums;
}

class SqliteFile {
 public:
  explicit SqliteFile(const ReportModel& model)
      : path_(absl::StrCat(testing::TempDir(), "/plateau-export-", getpid(), ".sqlite")) {
    EXPECT_TRUE(WriteSqlite(model, path_).ok());
    EXPECT_EQ(sqlite3_open_v2(path_.c_str(), &db_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  }
  ~SqliteFile() {
    sqlite3_close(db_);
    std::remove(path_.c_str());
  }
  int64_t Number(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
  }

 private:
  std::string path_;
  sqlite3* db_ = nullptr;
};

TEST(TotalsTest, TextJsonHtmlSqlitePprofAndCsvAgree) {
  for (const auto& [name, model] : AllModels()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(CheckTotals(model).empty());
    const int64_t total = model.totals.retained_bytes;

    const json report = json::parse(WriteJsonReport(model));
    int64_t sum = 0;
    for (const json& site : report["sites"]) sum += site["retained_bytes"].get<int64_t>();
    for (const json& rest : report["totals"]["leftovers"]) sum += rest["retained_bytes"].get<int64_t>();
    EXPECT_EQ(sum, total) << "JSON";

    const json page = json(BuildPageData(model));
    sum = page["rest"]["retained"].get<int64_t>();
    for (const json& site : page["sites"]) sum += site["retained"].get<int64_t>();
    for (const json& rest : page["report"]["totals"]["leftovers"])
      sum += rest["retained_bytes"].get<int64_t>();
    EXPECT_EQ(sum, total) << "HTML";

    const std::map<std::string, int64_t> pprof = PprofSums(ReadPprof(model));
    EXPECT_EQ(pprof.at("inuse_space"), total) << "pprof";
    EXPECT_EQ(pprof.at("inuse_objects"), model.totals.retained_count);
    EXPECT_EQ(pprof.at("peak_space"), model.totals.peak_bytes);
    EXPECT_EQ(pprof.at("temporary_space"), model.totals.temporary_bytes);
    EXPECT_EQ(pprof.at("alloc_space"), model.totals.alloc_bytes);
    EXPECT_EQ(pprof.at("alloc_objects"), model.totals.alloc_count);

    SqliteFile sqlite(model);
    EXPECT_EQ(
        sqlite.Number(
            "SELECT (SELECT sum(retained_bytes) FROM sites) + (SELECT sum(retained_bytes) FROM leftovers)"),
        total);
    EXPECT_EQ(sqlite.Number("SELECT sum(retained_bytes) FROM stacks"), total);
    EXPECT_EQ(sqlite.Number("SELECT value FROM totals WHERE name = 'retained_bytes'"), total);
    EXPECT_EQ(sqlite.Number("SELECT sum(peak_bytes) FROM stacks"), model.totals.peak_bytes);
    EXPECT_EQ(sqlite.Number("SELECT count(*) FROM ledger"), static_cast<int64_t>(model.ledger.size()));

    const std::string text = WriteSiteTable(model, TableOptions());
    EXPECT_THAT(text.substr(text.rfind("Total")),
                testing::HasSubstr(FormatBytes(static_cast<double>(total))));
  }
}

TEST(PprofExportTest, EveryReferenceIsDefined) {
  const pprof::Profile profile = ReadPprof(HostileModel());
  EXPECT_EQ(profile.string_table(0), "");
  EXPECT_EQ(profile.string_table(static_cast<int>(profile.default_sample_type())), "inuse_space");
  for (int i = 0; i < profile.location_size(); ++i) {
    EXPECT_EQ(profile.location(i).id(), static_cast<uint64_t>(i + 1));
    EXPECT_LE(profile.location(i).mapping_id(), static_cast<uint64_t>(profile.mapping_size()));
    EXPECT_GE(profile.location(i).line(0).function_id(), 1u);
    EXPECT_LE(profile.location(i).line(0).function_id(), static_cast<uint64_t>(profile.function_size()));
  }
  for (const pprof::Sample& sample : profile.sample()) {
    EXPECT_EQ(sample.value_size(), profile.sample_type_size());
    for (uint64_t id : sample.location_id()) EXPECT_LE(id, static_cast<uint64_t>(profile.location_size()));
  }
}

TEST(FoldedExportTest, OneLinePerStackAndNothingBreaksIt) {
  const ReportModel model = HostileModel();
  int64_t sum = 0, expected = 0;
  for (const StackTreeNode& node : model.stacks) expected += std::max<int64_t>(0, node.retained_bytes);
  for (absl::string_view line :
       absl::StrSplit(WriteFolded(model, StackMetric::kRetained), '\n', absl::SkipEmpty())) {
    const size_t space = line.rfind(' ');
    int64_t value = 0;
    ASSERT_TRUE(absl::SimpleAtoi(line.substr(space + 1), &value)) << line;
    sum += value;
  }
  EXPECT_EQ(sum, expected);
}

TEST(SpeedscopeExportTest, WeightsMatchTheStacks) {
  const ReportModel model = LeakModel();
  const json file = json::parse(WriteSpeedscope(model));
  const size_t frames = file["shared"]["frames"].size();
  for (const json& profile : file["profiles"]) {
    ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
    int64_t sum = 0;
    for (const json& weight : profile["weights"]) sum += weight.get<int64_t>();
    EXPECT_EQ(sum, profile["endValue"].get<int64_t>());
    for (const json& sample : profile["samples"]) {
      for (const json& frame : sample) EXPECT_LT(frame.get<size_t>(), frames);
    }
  }
}

TEST(PerfettoExportTest, CountersAndSlicesAreReadBack) {
  const ReportModel model = LeakModel();
  track_trace::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(WritePerfetto(model)));
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, int> open;
  std::map<std::string, std::vector<int64_t>> counters;
  for (const track_trace::TracePacket& packet : trace.packet()) {
    EXPECT_TRUE(packet.has_trusted_packet_sequence_id());
    if (packet.has_track_descriptor())
      names[packet.track_descriptor().uuid()] = packet.track_descriptor().name();
    if (!packet.has_track_event()) continue;
    const track_trace::TrackEvent& event = packet.track_event();
    ASSERT_TRUE(names.count(event.track_uuid())) << "a track is described before it is used";
    if (event.type() == track_trace::TrackEvent::TYPE_COUNTER) {
      counters[names[event.track_uuid()]].push_back(event.counter_value());
    } else {
      open[event.track_uuid()] += event.type() == track_trace::TrackEvent::TYPE_SLICE_BEGIN ? 1 : -1;
      EXPECT_GE(open[event.track_uuid()], 0);
    }
  }
  for (const auto& [track, depth] : open) EXPECT_EQ(depth, 0) << names[track];
  ASSERT_EQ(counters["live"].size(), model.ledger.size());
  EXPECT_EQ(counters["live"].back(), model.ledger.back().live_bytes);
  EXPECT_EQ(counters["site train.py:57 in train_step"].back(), model.sites[1].live_bytes.back());
}

TEST(CsvExportTest, QuotesAndFormulasAreHarmless) {
  ReportModel model = HostileModel();
  model.sites[3].site = "=HYPERLINK(\"x\")";
  const std::string csv = WriteCsv(model, "sites").value();
  EXPECT_THAT(csv, testing::HasSubstr("\"'=HYPERLINK(\"\"x\"\")\""));
  model.sites[3].site = " \t@SUM(1)\x1b[31m";
  EXPECT_THAT(WriteCsv(model, "sites").value(), testing::HasSubstr("\"' \t@SUM(1)?[31m\""));
  EXPECT_FALSE(WriteCsv(model, "nonsense").ok());
  for (const char* table : {"ledger", "series", "processes", "hypotheses", "holders"}) {
    EXPECT_THAT(WriteCsv(model, table).value(), testing::HasSubstr("\r\n")) << table;
  }
}

TEST(SqliteExportTest, FailureLeavesNoHalfFile) {
  EXPECT_FALSE(WriteSqlite(LeakModel(), "/nonexistent/folder/x.sqlite").ok());
}

TEST(Utf8Test, BadBytesAreReplacedGoodOnesKept) {
  EXPECT_EQ(ValidUtf8("a\xff\xc3z"), "a\ufffd\ufffdz");
  EXPECT_EQ(ValidUtf8("\xf0\x9f\x94\xa5"), "\xf0\x9f\x94\xa5");
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(ValidUtf8("\xe2\x82"), "\ufffd\ufffd");
}

}  // namespace
}  // namespace plateau::report
