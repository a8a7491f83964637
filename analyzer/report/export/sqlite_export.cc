#include "analyzer/report/export/sqlite_export.h"

#include <sqlite3.h>

#include <cstdio>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "analyzer/base/output_file.h"
#include "analyzer/base/status_macros.h"

namespace plateau::report {
namespace {

constexpr char kSchema[] = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value);
CREATE TABLE totals (name TEXT PRIMARY KEY, value INTEGER);
CREATE TABLE sites (id INTEGER PRIMARY KEY, site TEXT, file TEXT, line INTEGER, function TEXT, module TEXT, pool TEXT, phase TEXT,
  category TEXT, source_line TEXT, retained_bytes INTEGER, retained_count INTEGER, growth_bytes_per_step REAL, growth_low REAL,
  growth_high REAL, peak_bytes INTEGER, temporary_bytes INTEGER, alloc_bytes INTEGER, alloc_count INTEGER, free_count INTEGER,
  tensor_count INTEGER, first_step REAL, last_step REAL, verdict TEXT, evidence TEXT);
CREATE TABLE leftovers (name TEXT, explanation TEXT, retained_bytes INTEGER, retained_count INTEGER, peak_bytes INTEGER,
  temporary_bytes INTEGER, alloc_bytes INTEGER, alloc_count INTEGER);
CREATE TABLE site_steps (site_id INTEGER, step REAL, live_bytes INTEGER, survivor_bytes INTEGER);
CREATE TABLE holders (id INTEGER PRIMARY KEY, site_id INTEGER, place INTEGER, end TEXT, root TEXT, root_owner TEXT, path TEXT,
  container TEXT, container_type TEXT, share REAL, bytes INTEGER, items REAL, bound REAL, items_per_step REAL);
CREATE TABLE holder_lengths (holder_id INTEGER, step REAL, items REAL);
CREATE TABLE site_ages (site_id INTEGER, min_age_steps INTEGER, max_age_steps INTEGER, bytes INTEGER);
CREATE TABLE ledger (time_seconds REAL, step REAL, live_bytes INTEGER, rss_bytes INTEGER, rss_anon_bytes INTEGER,
  rss_file_bytes INTEGER, rss_shmem_bytes INTEGER, allocator_gap_bytes INTEGER, own_bytes INTEGER, pinned_bytes INTEGER,
  device_live_bytes INTEGER, device_reserved_bytes INTEGER, cgroup_bytes INTEGER, unexplained_bytes INTEGER);
CREATE TABLE pools (name TEXT, verdict TEXT, evidence TEXT, live_bytes INTEGER, peak_bytes INTEGER, reserved_bytes INTEGER,
  growth_bytes_per_step REAL);
CREATE TABLE processes (pid INTEGER, parent_pid INTEGER, role TEXT, rank INTEGER, exe TEXT, command TEXT, ending TEXT,
  start_seconds REAL, end_seconds REAL, verdict TEXT, retained_bytes INTEGER, peak_bytes INTEGER, peak_rss_bytes INTEGER,
  growth_bytes_per_step REAL, dropped_events INTEGER);
CREATE TABLE hypotheses (name TEXT, result TEXT, evidence TEXT);
CREATE TABLE patterns (id TEXT, title TEXT, explanation TEXT, fix TEXT, evidence TEXT);
CREATE TABLE breakdown (name TEXT, bytes INTEGER, count INTEGER, how TEXT);
CREATE TABLE phases (kind TEXT, label TEXT, from_step REAL, to_step REAL, from_seconds REAL, to_seconds REAL);
CREATE TABLE frames (id INTEGER PRIMARY KEY, function TEXT, file TEXT, line INTEGER, module TEXT, kind TEXT);
CREATE TABLE stacks (id INTEGER PRIMARY KEY, parent_id INTEGER, frame_id INTEGER, site_id INTEGER, retained_bytes INTEGER,
  retained_count INTEGER, growth_bytes_per_step REAL, peak_bytes INTEGER, temporary_bytes INTEGER, alloc_bytes INTEGER,
  alloc_count INTEGER);
)sql";

constexpr char kIndexes[] = R"sql(
CREATE INDEX site_steps_by_site ON site_steps (site_id, step);
CREATE INDEX stacks_by_parent ON stacks (parent_id);
)sql";

class Database {
 public:
  static absl::StatusOr<std::unique_ptr<Database>> Create(const std::string& path) {
    auto database = std::make_unique<Database>();
    if (sqlite3_open_v2(path.c_str(), &database->handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        nullptr) != SQLITE_OK) {
      return database->Error(absl::StrCat("cannot create ", path));
    }
    return database;
  }
  ~Database() {
    sqlite3_finalize(statement_);
    sqlite3_close(handle_);
  }

  absl::Status Run(const char* sql) {
    if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return Error("SQL failed");
    return absl::OkStatus();
  }

  // INSERT into `table` with as many columns as values; the statement is kept while the table stays the same.
  template <typename... Values>
  absl::Status Insert(const char* table, const Values&... values) {
    if (table != table_) {
      sqlite3_finalize(statement_);
      statement_ = nullptr;
      std::string sql = absl::StrCat("INSERT INTO ", table, " VALUES (?");
      for (size_t i = 1; i < sizeof...(values); ++i) sql += ",?";
      sql += ")";
      if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) return Error(sql);
      table_ = table;
    }
    int column = 0;
    (Bind(++column, values), ...);
    const int result = sqlite3_step(statement_);
    sqlite3_reset(statement_);
    if (result != SQLITE_DONE) return Error(absl::StrCat("cannot write a row of ", table));
    return absl::OkStatus();
  }

 private:
  template <typename Value>
  void Bind(int column, const Value& value) {
    if constexpr (std::is_floating_point_v<Value>) {
      sqlite3_bind_double(statement_, column, value);
    } else if constexpr (std::is_integral_v<Value>) {
      sqlite3_bind_int64(statement_, column, static_cast<sqlite3_int64>(value));
    } else if constexpr (std::is_same_v<Value, std::string>) {
      sqlite3_bind_text(statement_, column, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    } else {
      if (value.has_value()) {
        Bind(column, *value);
      } else {
        sqlite3_bind_null(statement_, column);
      }
    }
  }

  absl::Status Error(const std::string& what) const {
    return absl::InternalError(absl::StrCat(what, ": ", sqlite3_errmsg(handle_)));
  }

  sqlite3* handle_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  const char* table_ = nullptr;
};

absl::Status InsertSites(const ReportModel& model, Database& db) {
  for (size_t i = 0; i < model.sites.size(); ++i) {
    const Site& s = model.sites[i];
    std::optional<double> low, high;
    if (s.growth_interval.has_value()) {
      low = s.growth_interval->low;
      high = s.growth_interval->high;
    }
    PLATEAU_RETURN_IF_ERROR(db.Insert("sites", i, s.site, s.file, s.line, s.function, s.module, s.pool,
                                      s.phase, s.category, s.source_line, s.retained_bytes, s.retained_count,
                                      s.growth_bytes_per_step, low, high, s.peak_bytes, s.temporary_bytes,
                                      s.alloc_bytes, s.alloc_count, s.free_count, s.tensor_count,
                                      s.first_step, s.last_step, s.verdict, s.evidence));
  }
  for (size_t i = 0; i < model.sites.size(); ++i) {
    const Site& s = model.sites[i];
    for (size_t k = 0; k < s.live_bytes.size() && k < model.axis_steps.size(); ++k) {
      const int64_t survivors = k < s.survivor_bytes.size() ? s.survivor_bytes[k] : 0;
      if (s.live_bytes[k] == 0 && survivors == 0) continue;
      PLATEAU_RETURN_IF_ERROR(db.Insert("site_steps", i, model.axis_steps[k], s.live_bytes[k], survivors));
    }
  }
  for (size_t i = 0; i < model.sites.size(); ++i) {
    for (int bucket = 0; bucket < kAgeBuckets; ++bucket) {
      const int64_t bytes = model.sites[i].age_bytes[bucket];
      if (bytes == 0) continue;
      const int64_t low = bucket == 0 ? 0 : int64_t{1} << (bucket - 1);
      const int64_t high = bucket == 0 ? 0 : (int64_t{1} << bucket) - 1;
      PLATEAU_RETURN_IF_ERROR(db.Insert("site_ages", i, low, high, bytes));
    }
  }
  for (const Leftover& l : model.leftovers) {
    PLATEAU_RETURN_IF_ERROR(db.Insert("leftovers", l.name, l.explanation, l.retained_bytes, l.retained_count,
                                      l.peak_bytes, l.temporary_bytes, l.alloc_bytes, l.alloc_count));
  }
  return absl::OkStatus();
}

absl::Status InsertHolders(const ReportModel& model, Database& db) {
  int64_t id = 0;
  for (size_t i = 0; i < model.sites.size(); ++i) {
    for (size_t place = 0; place < model.sites[i].held_by.size(); ++place, ++id) {
      const HolderPath& p = model.sites[i].held_by[place];
      PLATEAU_RETURN_IF_ERROR(db.Insert("holders", id, i, place, p.end, p.root, p.root_owner, p.text,
                                        p.container, p.container_type, p.share, p.bytes, p.items, p.bound,
                                        p.items_per_step));
    }
  }
  id = 0;
  for (const Site& site : model.sites) {
    for (const HolderPath& p : site.held_by) {
      for (const ContainerReading& reading : p.lengths)
        PLATEAU_RETURN_IF_ERROR(db.Insert("holder_lengths", id, reading.step, reading.items));
      ++id;
    }
  }
  return absl::OkStatus();
}

absl::Status InsertStacks(const ReportModel& model, Database& db) {
  for (size_t i = 0; i < model.frames.size(); ++i) {
    const Frame& f = model.frames[i];
    PLATEAU_RETURN_IF_ERROR(db.Insert("frames", i, f.function, f.file, f.line, f.module, f.kind));
  }
  for (size_t i = 0; i < model.stacks.size(); ++i) {
    const StackTreeNode& n = model.stacks[i];
    const std::optional<int64_t> parent = n.parent < 0 ? std::nullopt : std::optional<int64_t>(n.parent);
    const std::optional<int64_t> site = n.site < 0 ? std::nullopt : std::optional<int64_t>(n.site);
    PLATEAU_RETURN_IF_ERROR(db.Insert("stacks", i, parent, n.frame, site, n.retained_bytes, n.retained_count,
                                      n.growth_bytes_per_step, n.peak_bytes, n.temporary_bytes, n.alloc_bytes,
                                      n.alloc_count));
  }
  return absl::OkStatus();
}

absl::Status InsertRest(const ReportModel& model, Database& db) {
  const Totals& t = model.totals;
  const std::pair<const char*, int64_t> totals[] = {
      {"alloc_count", t.alloc_count},       {"alloc_bytes", t.alloc_bytes},
      {"free_count", t.free_count},         {"free_bytes", t.free_bytes},
      {"retained_bytes", t.retained_bytes}, {"retained_count", t.retained_count},
      {"peak_bytes", t.peak_bytes},         {"temporary_bytes", t.temporary_bytes}};
  for (const auto& [name, value] : totals)
    PLATEAU_RETURN_IF_ERROR(db.Insert("totals", std::string(name), value));
  for (const LedgerReading& s : model.ledger) {
    PLATEAU_RETURN_IF_ERROR(db.Insert("ledger", s.time_seconds, s.step, s.live_bytes, s.rss_bytes,
                                      s.rss_anon_bytes, s.rss_file_bytes, s.rss_shmem_bytes,
                                      s.allocator_gap_bytes, s.own_bytes, s.pinned_bytes, s.device_live_bytes,
                                      s.device_reserved_bytes, s.cgroup_bytes, s.unexplained_bytes));
  }
  for (const PoolSummary& p : model.pools) {
    PLATEAU_RETURN_IF_ERROR(db.Insert("pools", p.name, p.verdict, p.evidence, p.live_bytes, p.peak_bytes,
                                      p.reserved_bytes, p.growth_bytes_per_step));
  }
  for (const Process& p : model.processes) {
    const std::optional<int64_t> rank = p.rank.has_value() ? std::optional<int64_t>(*p.rank) : std::nullopt;
    PLATEAU_RETURN_IF_ERROR(db.Insert("processes", p.pid, p.parent_pid, p.role, rank, p.exe, p.command,
                                      p.ending, p.start_seconds, p.end_seconds, p.verdict, p.retained_bytes,
                                      p.peak_bytes, p.peak_rss_bytes, p.growth_bytes_per_step,
                                      p.dropped_events));
  }
  for (const TestedHypothesis& h : model.hypotheses) {
    PLATEAU_RETURN_IF_ERROR(db.Insert("hypotheses", h.name, h.result, h.evidence));
  }
  for (const MatchedPattern& p : model.patterns) {
    PLATEAU_RETURN_IF_ERROR(db.Insert("patterns", p.id, p.title, p.explanation, p.fix, p.evidence));
  }
  for (const BreakdownItem& b : model.breakdown) {
    PLATEAU_RETURN_IF_ERROR(db.Insert("breakdown", b.name, b.bytes, b.count, b.how));
  }
  for (const Phase& p : model.phases) {
    PLATEAU_RETURN_IF_ERROR(
        db.Insert("phases", p.kind, p.label, p.from_step, p.to_step, p.from_seconds, p.to_seconds));
  }
  const std::pair<const char*, std::string> texts[] = {
      {"schema", "plateau-sqlite/1"},       {"tool_version", model.tool_version},
      {"verdict", model.verdict.name},      {"summary", model.verdict.summary},
      {"sentence", model.verdict.sentence}, {"command", model.recording.command},
      {"mode", model.recording.mode},       {"started_utc", model.recording.started_utc},
      {"ending", model.recording.ending},   {"step_source", model.steps.source}};
  for (const auto& [key, value] : texts) PLATEAU_RETURN_IF_ERROR(db.Insert("meta", std::string(key), value));
  PLATEAU_RETURN_IF_ERROR(db.Insert("meta", std::string("steps"), model.steps.count));
  PLATEAU_RETURN_IF_ERROR(db.Insert("meta", std::string("dropped_events"), model.losses.dropped_events));
  return db.Insert("meta", std::string("duration_seconds"), model.recording.duration_seconds);
}

absl::Status Fill(const ReportModel& model, const std::string& path) {
  PLATEAU_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db, Database::Create(path));
  PLATEAU_RETURN_IF_ERROR(db->Run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN"));
  PLATEAU_RETURN_IF_ERROR(db->Run(kSchema));
  PLATEAU_RETURN_IF_ERROR(InsertSites(model, *db));
  PLATEAU_RETURN_IF_ERROR(InsertHolders(model, *db));
  PLATEAU_RETURN_IF_ERROR(InsertStacks(model, *db));
  PLATEAU_RETURN_IF_ERROR(InsertRest(model, *db));
  PLATEAU_RETURN_IF_ERROR(db->Run(kIndexes));
  return db->Run("COMMIT");
}

}  // namespace

absl::Status WriteSqlite(const ReportModel& model, const std::string& path) {
  PLATEAU_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  if (file.temporary_path() == path) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": a database needs a regular file"));
  }
  PLATEAU_RETURN_IF_ERROR(Fill(model, file.temporary_path()));
  return file.Commit();
}

}  // namespace plateau::report
