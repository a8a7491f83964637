#include "analyzer/report/bundle/tar_archive.h"

#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plateau::report {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kFreeBytes = size_t{16} << 20;  // that any archive may unpack to
constexpr size_t kMaxRatio = 200;

// A ustar header; all numbers are octal text.
struct Header {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6];
  char version[2];
  char user[32];
  char group[32];
  char device_major[8];
  char device_minor[8];
  char prefix[155];
  char padding[12];
};
static_assert(sizeof(Header) == kBlock);

unsigned Checksum(const Header& header) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  unsigned sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool own =
        i >= offsetof(Header, checksum) && i < offsetof(Header, checksum) + sizeof(header.checksum);
    sum += own ? ' ' : bytes[i];
  }
  return sum;
}

bool SafeName(absl::string_view name) {
  if (name.empty() || name.size() > 99 || name[0] == '/') return false;
  for (absl::string_view part : absl::StrSplit(name, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

uint64_t Octal(const char* text, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size && text[i] >= '0' && text[i] <= '7'; ++i)
    value = value * 8 + static_cast<uint64_t>(text[i] - '0');
  return value;
}

absl::StatusOr<std::string> Decompress(absl::string_view bytes, size_t max_bytes) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
  std::string out;
  std::string part(ZSTD_DStreamOutSize(), '\0');
  size_t rest = 1;
  while (in.pos < in.size || rest != 0) {
    ZSTD_outBuffer to = {part.data(), part.size(), 0};
    const size_t before = in.pos;
    rest = ZSTD_decompressStream(stream.get(), &to, &in);
    if (ZSTD_isError(rest))
      return absl::DataLossError(absl::StrCat("bundle is damaged: ", ZSTD_getErrorName(rest)));
    out.append(part.data(), to.pos);
    if (out.size() > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("the bundle of ", bytes.size(),
                                                       " bytes unpacks to more than the ", max_bytes,
                                                       " that are read of one of its size"));
    }
    if (to.pos == 0 && in.pos == before) break;
  }
  if (rest != 0) return absl::DataLossError("bundle is cut short");
  return out;
}

}  // namespace

bool LooksLikeArchive(absl::string_view bytes) {
  return absl::StartsWith(bytes, absl::string_view("\x28\xb5\x2f\xfd", 4));
}

absl::StatusOr<std::string> PackArchive(const std::vector<ArchiveFile>& files) {
  std::string tar;
  for (const ArchiveFile& file : files) {
    if (!SafeName(file.name))
      return absl::InvalidArgumentError(absl::StrCat("\"", file.name, "\" cannot be a name in a bundle"));
    Header header = {};
    std::memcpy(header.name, file.name.data(), file.name.size());
    std::snprintf(header.mode, sizeof(header.mode), "%07o", 0600);
    std::snprintf(header.uid, sizeof(header.uid), "%07o", 0);
    std::snprintf(header.gid, sizeof(header.gid), "%07o", 0);
    std::snprintf(header.size, sizeof(header.size), "%011llo",
                  static_cast<unsigned long long>(file.content.size()));
    std::snprintf(header.mtime, sizeof(header.mtime), "%011o", 0);
    header.type = '0';
    std::memcpy(header.magic, "ustar", 6);
    std::memcpy(header.version, "00", 2);
    std::snprintf(header.checksum, sizeof(header.checksum), "%06o", Checksum(header));
    header.checksum[7] = ' ';
    tar.append(reinterpret_cast<const char*>(&header), kBlock);
    tar += file.content;
    tar.append((kBlock - file.content.size() % kBlock) % kBlock, '\0');
  }
  tar.append(2 * kBlock, '\0');
  std::string out(ZSTD_compressBound(tar.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), tar.data(), tar.size(), 9);
  if (ZSTD_isError(size)) return absl::InternalError(absl::StrCat("zstd: ", ZSTD_getErrorName(size)));
  out.resize(size);
  return out;
}

absl::StatusOr<std::vector<ArchiveFile>> UnpackArchive(absl::string_view bytes, size_t max_bytes) {
  if (!LooksLikeArchive(bytes)) return absl::InvalidArgumentError("not a bundle: no zstd stream");
  absl::StatusOr<std::string> tar =
      Decompress(bytes, std::min(max_bytes, kFreeBytes + kMaxRatio * bytes.size()));
  if (!tar.ok()) return tar.status();
  std::vector<ArchiveFile> files;
  size_t at = 0;
  while (at + kBlock <= tar->size()) {
    Header header;
    std::memcpy(&header, tar->data() + at, kBlock);
    if (header.name[0] == '\0') return files;  // the end
    if (std::memcmp(header.magic, "ustar", 5) != 0)
      return absl::DataLossError(absl::StrCat("bundle is damaged at byte ", at));
    if (Octal(header.checksum, sizeof(header.checksum)) != Checksum(header)) {
      return absl::DataLossError(absl::StrCat("bundle is damaged at byte ", at, ": checksum mismatch"));
    }
    ArchiveFile file;
    file.name.assign(header.name, strnlen(header.name, sizeof(header.name)));
    if (!SafeName(file.name))
      return absl::DataLossError(absl::StrCat("bundle holds a file named \"", file.name, "\""));
    const uint64_t size = Octal(header.size, sizeof(header.size));
    at += kBlock;
    if (size > tar->size() - at) return absl::DataLossError(absl::StrCat(file.name, " is cut short"));
    file.content.assign(*tar, at, size);
    at += (size + kBlock - 1) / kBlock * kBlock;
    if (header.type == '0' || header.type == '\0') files.push_back(std::move(file));
  }
  return absl::DataLossError("bundle has no end");
}

}  // namespace plateau::report
