// Whether a file belongs to an installed Python package, wherever packages were put: site-packages, a folder of
// `pip install --target`, an entry of PYTHONPATH, a conda environment.
//
//   /srv/libs/numpy-2.3.0.dist-info/RECORD      says that numpy/ and numpy.libs/ were installed beside it
//   /srv/libs/numpy/_core/fromnumeric.py        belongs to a package
//   /srv/libs/mine.py                           does not
//
// Folders are read once, when first asked about; on a machine without them nothing is a package here, and
// the caller's rules about names of folders decide. Not thread-safe.
#ifndef PLATEAU_ANALYZER_SYMBOLS_INSTALLED_PACKAGES_H_
#define PLATEAU_ANALYZER_SYMBOLS_INSTALLED_PACKAGES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace plateau::symbols {

class InstalledPackages {
 public:
  // For an absolute path; false for others.
  bool Has(const std::string& path);

 private:
  using Names = absl::flat_hash_set<std::string>;
  // What the packages that are installed in a folder have put into it.
  const Names& InstalledIn(const std::string& folder);
  // Whether a folder is the root of a conda environment.
  bool IsConda(const std::string& folder);

  absl::flat_hash_map<std::string, Names> folders_;
  absl::flat_hash_map<std::string, bool> conda_;
};

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_INSTALLED_PACKAGES_H_
