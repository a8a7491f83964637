// Which blocks of malloc belong to an object besides its own: tables, buffers, storages.
#include <cstring>

#include "preload/python/holders/object_walk.h"

namespace plateau::python::holders {
namespace {

using trace::HolderEnd;

constexpr uintptr_t kLowestAddress = 65536;
constexpr size_t kMaxScannedEntries = 64;

constexpr size_t kFirstImplField = 16;  // behind the table of functions and the count of references

bool LooksLikeAddress(uintptr_t word) { return word >= kLowestAddress && (word & 7) == 0 && word >> 47 == 0; }

// The object of a tensor or storage has the C++ object behind its header, in newer versions behind a word that is
// 0 or 1 (c10::MaybeOwned).
const void* ImplOf(const void* object) {
  const auto first = ReadAt<uintptr_t>(object, 16);
  const auto impl = first <= 1 ? ReadAt<uintptr_t>(object, 24) : first;
  return LooksLikeAddress(impl) ? reinterpret_cast<const void*>(impl) : nullptr;
}

}  // namespace

void ObjectWalk::MatchTables(const void* object, const TypeInfo& info) {
  switch (info.kind) {
    case TypeKind::kList:
      return Match(ReadAt<uintptr_t>(object, kListItems));
    case TypeKind::kDict:
      return Match(ReadAt<uintptr_t>(object, kDictKeys));
    case TypeKind::kSet:
      return Match(ReadAt<uintptr_t>(object, kSetTable));
    case TypeKind::kByteArray:
      return Match(ReadAt<uintptr_t>(object, kByteArrayStart));
    case TypeKind::kArray:
      return Match(ReadAt<uintptr_t>(object, kArrayItems));
    case TypeKind::kNumpyArray:
      return MatchNumpy(object);
    case TypeKind::kTensor:
      return MatchTensor(object);
    case TypeKind::kStorage:
      return MatchStorage(object);
    case TypeKind::kImage:
      return MatchImage(object);
    case TypeKind::kCData:
      // b_ptr, b_needsfree
      if (ReadAt<int32_t>(object, 24) != 0) Match(ReadAt<uintptr_t>(object, 16));
      return;
    case TypeKind::kPlain:
      return MatchOwnBytes(object, info.own_bytes);
    default:
      return;
  }
}

// The type tells us nothing of what it keeps. That the address stands in the object is all we know.
void ObjectWalk::MatchOwnBytes(const void* object, size_t bytes) {
  for (size_t at = 16; at + 8 <= bytes; at += 8) {
    const auto word = ReadAt<uintptr_t>(object, at);
    if (word >= kLowestAddress) Match(word, HolderEnd::kOpaque);
  }
}

// PyArrayObject_fields: data 16, nd 24, dimensions 32, strides 40, base 48, descr 56, flags 64. An array is unknown
// to the collector, so its references are followed here.
void ObjectWalk::MatchNumpy(const void* array) {
  constexpr int32_t kContiguous = 3;  // in the order of C or of Fortran
  constexpr int32_t kObjects = 17;    // NPY_OBJECT
  const auto data = ReadAt<uintptr_t>(array, 16);
  Match(data);
  Reach(ReadPointer(array, 48));
  const void* const descr = ReadPointer(array, 56);
  if (descr == nullptr || ReadAt<int32_t>(descr, 28) != kObjects) return;
  if ((ReadAt<int32_t>(array, 64) & kContiguous) == 0 || data == 0) return;
  const int32_t dimensions = ReadAt<int32_t>(array, 24);
  int64_t count = 1;
  for (int32_t i = 0; i < dimensions && count > 0; ++i)
    count *= ReadAt<int64_t>(ReadPointer(array, 32), 8 * static_cast<size_t>(i));
  for (int64_t i = 0; i < count; ++i)
    Reach(ReadPointer(reinterpret_cast<const void*>(data), 8 * static_cast<size_t>(i)));
}

// A TensorImpl has its StorageImpl, and this the address of the bytes, among its first words; where exactly differs between
// versions. An address that is there is the one that it owns. The bytes are not read: they may be a device's.
void ObjectWalk::MatchTensor(const void* tensor) {
  const void* const impl = ImplOf(tensor);
  if (impl == nullptr) return;
  for (const size_t at : {kFirstImplField, kFirstImplField + 8}) {
    const auto word = ReadAt<uintptr_t>(impl, at);
    if (!LooksLikeAddress(word)) continue;
    const auto* const storage = reinterpret_cast<const void*>(word);
    for (size_t inner = kFirstImplField; inner <= kFirstImplField + 16; inner += 8)
      Match(ReadAt<uintptr_t>(storage, inner));
  }
  tensors_.Append(reinterpret_cast<uintptr_t>(tensor), current_);
}

void ObjectWalk::MatchStorage(const void* storage) {
  const void* const impl = ImplOf(storage);
  if (impl == nullptr) return;
  constexpr size_t kLastField = 40;
  for (size_t at = kFirstImplField; at <= kLastField; at += 8) Match(ReadAt<uintptr_t>(impl, at));
}

// ImagingObject: image 16. ImagingMemoryInstance: rows of the image, equal to the rows of one of two widths that
// stand before it; where they begin depends on the version.
void ObjectWalk::MatchImage(const void* image) {
  const auto memory = ReadAt<uintptr_t>(image, 16);
  if (!LooksLikeAddress(memory)) return;
  const auto* const instance = reinterpret_cast<const void*>(memory);
  for (const size_t at : {size_t{48}, size_t{56}}) {
    const auto rows = ReadAt<uintptr_t>(instance, at);
    if (!LooksLikeAddress(rows)) continue;
    if (rows != ReadAt<uintptr_t>(instance, at - 8) && rows != ReadAt<uintptr_t>(instance, at - 16)) continue;
    const int32_t height = ReadAt<int32_t>(instance, at - 36);
    for (int32_t y = 0; y < height && static_cast<size_t>(y) < kMaxScannedEntries * 1024; ++y)
      Match(ReadAt<uintptr_t>(reinterpret_cast<const void*>(rows), 8 * static_cast<size_t>(y)));
    Match(rows);
    Match(memory);
    return;
  }
}

}  // namespace plateau::python::holders
