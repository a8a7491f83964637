#include "analyzer/report/bundle/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/report/bundle/anonymizer.h"
#include "analyzer/report/bundle/tar_archive.h"
#include "analyzer/report/json/json_report.h"
#include "analyzer/report/page/html_report.h"
#include "analyzer/report/text/card.h"
#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

using testing::HasSubstr;
using testing::Not;

const BundleWriters& Writers() {
  static const BundleWriters writers = {
      .card = [](const ReportModel& model) { return WriteCard(model); },
      .json =
          [](const ReportModel& model) {
            JsonOptions options;
            options.include_stacks = true;
            return WriteJsonReport(model, options);
          },
      .page = [](const ReportModel& model) { return WriteHtmlReport(model); }};
  return writers;
}

absl::StatusOr<ReportModel> OpenBundle(absl::string_view archive) {
  const absl::StatusOr<std::string> json = JsonOfBundle(archive);
  if (!json.ok()) return json.status();
  return ReadJsonReport(*json);
}

// A leak in somebody's private project.
ReportModel PrivateModel() {
  ReportModel model = LeakModel();
  auto private_path = [](std::string& path) {
    if (!path.empty() && path[0] != '/') path = "/home/margaret/moonshot/pipeline/" + path;
  };
  for (Frame& frame : model.frames) private_path(frame.file);
  for (Site& site : model.sites) {
    private_path(site.file);
    if (site.function == "train_step") site.function = "train_moonshot_step";
    site.site = absl::StrCat(site.file, ":", site.line, " in ", site.function);
  }
  for (Frame& frame : model.frames) {
    if (frame.function == "train_step") frame.function = "train_moonshot_step";
  }
  model.recording.command = "python /home/margaret/moonshot/pipeline/train.py --secret-project";
  model.recording.path = "/home/margaret/recordings/moonshot-1";
  model.processes[0].command = model.recording.command;
  model.recording.notes = {
      "symbols of /home/margaret/moonshot/pipeline/_fastops.so were missing on gpu-box-7"};
  model.verdict.why.push_back("held by /home/margaret/moonshot/pipeline/train.py:57 in train_moonshot_step");
  return model;
}

TEST(TarArchiveTest, FilesComeBack) {
  const std::vector<ArchiveFile> files = {
      {"a.txt", "hello"}, {"dir/b.bin", std::string(100000, '\x07')}, {"empty", ""}};
  const std::string bytes = PackArchive(files).value();
  const std::vector<ArchiveFile> again = UnpackArchive(bytes).value();
  ASSERT_EQ(again.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again[i].name, files[i].name);
    EXPECT_TRUE(again[i].content == files[i].content);
  }
  EXPECT_EQ(PackArchive(files).value(), bytes) << "equal contents, equal bytes";
}

TEST(TarArchiveTest, RealTarReadsIt) {
  const std::string path = absl::StrCat(testing::TempDir(), "/plateau-bundle-", getpid(), ".tar.zst");
  std::ofstream(path, std::ios::binary) << PackArchive({{"dir/name.txt", "content\n"}}).value();
  FILE* tar = popen(absl::StrCat("zstd -dc '", path, "' | tar -xO dir/name.txt 2>&1").c_str(), "r");
  ASSERT_NE(tar, nullptr);
  char text[100] = {};
  EXPECT_GT(fread(text, 1, sizeof(text) - 1, tar), 0u);
  EXPECT_EQ(pclose(tar), 0);
  EXPECT_STREQ(text, "content\n");
  std::remove(path.c_str());
}

TEST(TarArchiveTest, DamageAndTricksAreRefused) {
  const std::string bytes = PackArchive({{"a.txt", std::string(5000, 'x')}}).value();
  EXPECT_FALSE(UnpackArchive("not zstd").ok());
  for (size_t cut = 1; cut < bytes.size(); cut += 3)
    EXPECT_FALSE(UnpackArchive(bytes.substr(0, cut)).ok()) << cut;
  EXPECT_FALSE(PackArchive({{"/etc/passwd", ""}}).ok());
  EXPECT_FALSE(PackArchive({{"../up", ""}}).ok());
  EXPECT_FALSE(UnpackArchive(bytes, /*max_bytes=*/100).ok());
}

TEST(TarArchiveTest, UnpacksToWhatItsSizeAllows) {
  const std::string small = PackArchive({{"a.txt", std::string(size_t{8} << 20, 'x')}}).value();
  EXPECT_TRUE(UnpackArchive(small).ok());
  const std::string bomb = PackArchive({{"a.txt", std::string(size_t{64} << 20, 'x')}}).value();
  EXPECT_LT(bomb.size(), 100000u);
  const auto status = UnpackArchive(bomb).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("unpacks to more than"));
}

TEST(BundleTest, OpensToTheSameReport) {
  const ReportModel model = LeakModel();
  const absl::StatusOr<Bundle> bundle = MakeBundle(model, Writers(), {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const absl::StatusOr<ReportModel> again = OpenBundle(bundle->archive);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(CheckTotals(*again).empty());
  EXPECT_EQ(again->stacks.size(), model.stacks.size());
  EXPECT_EQ(again->sites[0].stack.size(), model.sites[0].stack.size());
  JsonOptions all;
  all.include_stacks = true;
  EXPECT_TRUE(WriteJsonReport(*again, all) == WriteJsonReport(model, all));
  EXPECT_THAT(bundle->markdown, HasSubstr("### Plateau: LEAK"));
}

TEST(BundleTest, TracesAreTakenAlongAndMissingOnesNamed) {
  const std::string path = absl::StrCat(testing::TempDir(), "/plateau-trace-", getpid(), ".plt");
  std::ofstream(path) << "trace bytes";
  BundleOptions options;
  options.trace_paths = {path};
  const std::vector<ArchiveFile> files =
      UnpackArchive(MakeBundle(LeakModel(), Writers(), options)->archive).value();
  EXPECT_EQ(files.back().content, "trace bytes");
  EXPECT_TRUE(absl::StartsWith(files.back().name, "trace/"));
  std::remove(path.c_str());
  EXPECT_THAT(std::string(MakeBundle(LeakModel(), Writers(), options).status().message()), HasSubstr(path));
}

TEST(BundleTest, AnonymizedHoldsNoOriginalNameInAnyByte) {
  BundleOptions options;
  options.anonymize = true;
  options.secrets = {"margaret", "gpu-box-7"};
  options.trace_paths = {"/nonexistent"};  // not even looked at
  const absl::StatusOr<Bundle> bundle = MakeBundle(PrivateModel(), Writers(), options);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const std::vector<ArchiveFile> files = UnpackArchive(bundle->archive).value();
  for (const ArchiveFile& file : files) {
    for (const char* secret :
         {"margaret", "moonshot", "gpu-box-7", "_fastops", "secret-project", "train_moonshot_step",
          "history.append", "pipeline/train.py", "moonmeter", "['loss']"}) {
      EXPECT_FALSE(absl::StrContains(file.content, secret)) << secret << " in " << file.name;
    }
    EXPECT_FALSE(absl::StartsWith(file.name, "trace/"));
  }
  const ReportModel opened = OpenBundle(bundle->archive).value();
  EXPECT_TRUE(CheckTotals(opened).empty());
  EXPECT_EQ(opened.verdict.name, "leak");
}

TEST(AnonymizerTest, SameNameSameStandInAndPublicNamesStay) {
  Anonymizer anonymizer({"margaret"});
  const ReportModel model = anonymizer.Anonymize(PrivateModel());
  const Site* leak = nullptr;
  const Site* optimizer = nullptr;
  for (const Site& site : model.sites) {
    if (site.line == 57) leak = &site;
    if (site.line == 53) optimizer = &site;
  }
  ASSERT_NE(leak, nullptr);
  ASSERT_NE(optimizer, nullptr);
  EXPECT_EQ(leak->file, optimizer->file);
  EXPECT_EQ(leak->function, optimizer->function);
  EXPECT_EQ(leak->site, absl::StrCat(leak->file, ":57 in ", leak->function));
  bool has_op = false;
  for (const Frame& frame : model.frames) has_op |= frame.function == "aten::nll_loss_forward";
  EXPECT_TRUE(has_op);
  EXPECT_THAT(model.verdict.why.back(), HasSubstr(leak->file));
}

TEST(AnonymizerTest, PathsOfHoldersKeepTheirShapeAndLoseTheirNames) {
  Anonymizer anonymizer({"margaret"});
  const ReportModel model = anonymizer.Anonymize(PrivateModel());
  const HolderPath* path = nullptr;
  for (const Site& site : model.sites) {
    if (!site.held_by.empty()) path = &site.held_by[0];
  }
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(path->text, "name1.name2[*]['key1']");
  EXPECT_EQ(path->container, "name1.name2");
  EXPECT_EQ(path->container_type, "list");
  EXPECT_EQ(path->lengths.size(), 3u);
  EXPECT_THAT(model.verdict.held_by.at(0), HasSubstr("name1.name2[*]['key1'] (list, 256 items"));
}

// A user, a folder and functions whose names are words that every report has.
TEST(BundleTest, NamesThatAreOurOwnWordsDoNotStopABundle) {
  ReportModel model = PrivateModel();
  for (Site& site : model.sites) {
    site.file = "/home/max/evaluation/hypotheses.py";
    site.function = "processes";
    site.site = absl::StrCat("hypotheses.py:", site.line, " in processes");
  }
  model.recording.notes = {"the bottom of /home/max/evaluation is custom"};
  BundleOptions options;
  options.anonymize = true;
  options.secrets = {"margaret", "gpu-box-7", "max", "tom"};
  const absl::StatusOr<Bundle> bundle = MakeBundle(model, Writers(), options);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const ReportModel opened = OpenBundle(bundle->archive).value();
  for (const Site& site : opened.sites) {
    EXPECT_THAT(site.site, Not(HasSubstr("hypotheses")));
    EXPECT_THAT(site.file, Not(HasSubstr("max")));
  }
  EXPECT_THAT(opened.recording.notes[0], HasSubstr("the bottom of /home/"));
  EXPECT_THAT(opened.recording.notes[0], HasSubstr(" is custom"));
  EXPECT_THAT(opened.recording.notes[0], Not(HasSubstr("max")));
}

// With debug files the interpreter's functions have a file, and one of them is called like a kind of link.
TEST(BundleTest, AFunctionNamedLikeAKindOfLinkDoesNotStopABundle) {
  ReportModel model = PrivateModel();
  for (Site& site : model.sites) {
    site.file = "/build/python/Objects/typeobject.c";
    site.function = "type_dict";
    site.site = absl::StrCat("typeobject.c:", site.line, " in type_dict");
    for (HolderPath& path : site.held_by) path.links.at(0).kind = "type_dict";
  }
  BundleOptions options;
  options.anonymize = true;
  const absl::StatusOr<Bundle> bundle = MakeBundle(model, Writers(), options);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const ReportModel opened = OpenBundle(bundle->archive).value();
  for (const Site& site : opened.sites) EXPECT_NE(site.function, "type_dict");
}

TEST(AnonymizerTest, SitesOfPublicFilesKeepTheirTitle) {
  ReportModel model;
  model.sites = {{.site = "__init__.py:144 in search_function",
                  .file = "/usr/lib/python3.11/encodings/__init__.py",
                  .line = 144,
                  .function = "search_function"},
                 {.site = "moonshot_grow in libmoonshot.so",
                  .function = "moonshot_grow",
                  .module = "/opt/moonshot/libmoonshot.so"}};
  Anonymizer anonymizer;
  const ReportModel out = anonymizer.Anonymize(model);
  EXPECT_EQ(out.sites[0].site, "__init__.py:144 in search_function");
  EXPECT_THAT(out.sites[1].site, Not(HasSubstr("moonshot")));
  EXPECT_THAT(out.sites[1].site, HasSubstr(" in "));
}

TEST(BundleTest, OtherArchivesAreNamed) {
  EXPECT_THAT(std::string(OpenBundle(PackArchive({{"x", "y"}}).value()).status().message()),
              HasSubstr("report.json"));
}

}  // namespace
}  // namespace plateau::report
