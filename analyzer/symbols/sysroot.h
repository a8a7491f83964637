// Files of the system on which a recording was made, when that is another one: an unpacked root below some folder.
//
//   Sysroot root("/srv/roots/arm64");
//   root.Find("/usr/lib/libfoo.so")    "/srv/roots/arm64/usr/lib/libfoo.so.1", what the link in there leads to
//
// Links of the other system are followed as they would be there: an absolute one starts again at the folder, and ".." of
// the folder is the folder. So nothing outside is found, whatever a recording or the tree says. For any number of threads.
#ifndef PLATEAU_ANALYZER_SYMBOLS_SYSROOT_H_
#define PLATEAU_ANALYZER_SYMBOLS_SYSROOT_H_

#include <string>
#include <utility>

namespace plateau::symbols {

class Sysroot {
 public:
  // This system.
  Sysroot() = default;
  // An empty folder or "/" means this system.
  explicit Sysroot(std::string folder);

  bool IsThisSystem() const { return folder_.empty(); }

  // Where the file of the other system is here. Empty when there is none, or when its links lead in circles. On this
  // system the path itself, looked at or not.
  std::string Find(const std::string& path) const;

 private:
  std::string folder_;  // without a slash at its end
};

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_SYSROOT_H_
