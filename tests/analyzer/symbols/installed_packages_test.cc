#include "analyzer/symbols/installed_packages.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace plateau::symbols {
namespace {

namespace fs = std::filesystem;

std::string Folder(const std::string& name) {
  const std::string path = ::testing::TempDir() + "/installed_packages/" + name;
  fs::create_directories(path);
  return path;
}

void Install(const std::string& folder, const std::string& package, const std::string& record) {
  fs::create_directories(folder + "/" + package);
  std::ofstream(folder + "/" + package + "/RECORD") << record;
}

TEST(InstalledPackagesTest, APackageIsWhereItsRecordIs) {
  const std::string target = Folder("target");
  Install(target, "numpy-2.3.0.dist-info",
          "../../bin/f2py,sha256=x,1\nnumpy/__init__.py,sha256=x,12\nnumpy.libs/libopenblas.so,sha256=x,1\n");
  Install(target, "six-1.0.dist-info", "six.py,sha256=x,12\n");
  InstalledPackages packages;
  EXPECT_TRUE(packages.Has(target + "/numpy/_core/fromnumeric.py"));
  EXPECT_TRUE(packages.Has(target + "/numpy.libs/libopenblas.so"));
  EXPECT_TRUE(packages.Has(target + "/six.py"));
  EXPECT_FALSE(packages.Has(target + "/mine/train.py")) << "beside packages, of no package";
  EXPECT_FALSE(packages.Has(target + "/train.py"));
  EXPECT_FALSE(packages.Has("train.py"));
  EXPECT_FALSE(packages.Has("/no/such/folder/train.py"));
}

TEST(InstalledPackagesTest, LibrariesOfACondaEnvironmentAreInstalled) {
  const std::string environment = Folder("envs/mine");
  Folder("envs/mine/conda-meta");
  InstalledPackages packages;
  EXPECT_TRUE(packages.Has(environment + "/lib/libmkl_rt.so.2"));
  EXPECT_FALSE(packages.Has(environment + "/work/train.py"));
}

}  // namespace
}  // namespace plateau::symbols
