#include "preload/python/holders/native/graph_walk.h"

#include <cstring>

#include "preload/base/real_functions.h"
#include "preload/python/holders/native/safe_read.h"
#include "preload/python/holders/tables/heap_layout.h"

namespace plateau::python::holders {
namespace {

constexpr uintptr_t kLowestAddress = 65536;
constexpr size_t kFirstField = 16;  // behind the table of functions and the count of references
constexpr size_t kLastField = 48;

bool LooksLikeAddress(uintptr_t word) { return word >= kLowestAddress && (word & 7) == 0 && word >> 47 == 0; }

bool EndsWith(ClassName name, const char* end) {
  const size_t bytes = strlen(end);
  return name.bytes >= bytes && memcmp(name.text + name.bytes - bytes, end, bytes) == 0;
}

}  // namespace

ClassName ShortClassName(const char* name) {
  ClassName last = {name, 0};
  if (*name == 'N') ++name;
  while (*name >= '0' && *name <= '9') {
    size_t bytes = 0;
    while (*name >= '0' && *name <= '9' && bytes < 1000)
      bytes = bytes * 10 + static_cast<size_t>(*name++ - '0');
    if (strnlen(name, bytes) < bytes) return {name, 0};
    last = {name, bytes};
    name += bytes;
  }
  return last;
}

const GraphWalk::Known* GraphWalk::ClassOf(uintptr_t object) {
  uintptr_t table = 0;
  if (!LooksLikeAddress(object) || !SafeRead(object, &table, sizeof(table)) || !LooksLikeAddress(table))
    return nullptr;
  Known& known = known_[table * 0x9e3779b97f4a7c15u >> 54];
  if (known.table == table) return &known;
  known = {table, "", Class::kUnknown};
  uintptr_t type_info = 0, name = 0;
  char text[128] = {};
  if (!SafeRead(table - 8, &type_info, 8) || !LooksLikeAddress(type_info)) return &known;
  if (!SafeRead(type_info + 8, &name, 8) || name < kLowestAddress || !SafeRead(name, text, sizeof(text) - 1))
    return &known;
  const ClassName last = ShortClassName(text);
  if (last.bytes == 0) return &known;
  known.name = reinterpret_cast<const char*>(name);  // in the read-only data of a module
  if (EndsWith(last, "StorageImpl")) {
    known.what = Class::kStorage;
  } else if (EndsWith(last, "TensorImpl")) {
    known.what = Class::kTensor;
  } else if (EndsWith(last, "AutogradMeta") || EndsWith(last, "DifferentiableViewMeta")) {
    known.what = Class::kMeta;
  } else if (strstr(text, "5torch8autograd") != nullptr && strstr(text, "Hook") == nullptr) {
    known.what = Class::kNode;
  }
  return &known;
}

// malloc's word in front of a block has its size; a block inside another one has something else there.
size_t GraphWalk::BlockBytes(uintptr_t object) {
  uint64_t word = 0;
  if (!SafeRead(object - 8, &word, 8)) return 0;
  const uint64_t bytes = word & ~uint64_t{7};
  return bytes >= 32 && bytes % 16 == 0 && bytes <= kMaxBytes ? bytes - 8 : 0;
}

void GraphWalk::Reach(uintptr_t object, const Step& from) {
  // Blocks of malloc are aligned to 16 bytes, so an address has a bit of its own in what was seen.
  if (count_ == kMaxObjects || !LooksLikeAddress(object) || (object & 15) != 0 || !seen_.Insert(object))
    return;
  const Known* const known = ClassOf(object);
  if (known == nullptr || known->what == Class::kUnknown) return;
  Step& step = steps_[count_++];
  step = {object, from.owner, known->what, from.is_grad, from.name};
  if (from.what == Class::kMeta) step.is_grad = known->what == Class::kTensor;
  if (from.what == Class::kNode) {
    step.is_grad = false;
    step.name = ClassOf(from.object)->name;
  }
}

void GraphWalk::FollowWords(const uintptr_t* words, size_t count, const Step& step) {
  for (size_t i = 0; i < count; ++i) Reach(words[i], step);
}

// Vectors of edges and of saved variables: begin, end, end of capacity.
void GraphWalk::FollowVectors(const uintptr_t* words, size_t count, const Step& step) {
  for (size_t i = 1; i + 2 < count; ++i) {
    const uintptr_t begin = words[i], end = words[i + 1], capacity = words[i + 2];
    if (!LooksLikeAddress(begin) || end <= begin || capacity < end || capacity - begin > kMaxBytes) continue;
    if ((end & 7) != 0 || !SafeRead(begin, more_words_, end - begin)) continue;
    FollowWords(more_words_, (end - begin) / 8, step);
  }
}

bool GraphWalk::IsPythonNode(uintptr_t object) {
  const Known* const known = ClassOf(object);
  if (known == nullptr) return false;
  const ClassName name = ShortClassName(known->name);
  return EndsWith(name, "PyNode");
}

// The node of a torch.autograd.Function has a Python object, whose saved variables are a vector of C++ in it: nothing
// that Python could tell us. It is among the node's words.
void GraphWalk::FollowPythonFunction(size_t count, const Step& step) {
  constexpr uint64_t kLeastBytes = 64, kMostBytes = 1024;
  for (size_t i = 1; i < count; ++i) {
    const uintptr_t object = words_[i];
    uint64_t head[2] = {}, bytes = 0, inside[kMostBytes / 8];
    if (!LooksLikeAddress(object) || !SafeRead(object, head, sizeof(head)) || !LooksLikeAddress(head[1]))
      continue;
    if (!SafeRead(head[1] + kTypeBasicSize, &bytes, 8) || bytes < kLeastBytes || bytes > kMostBytes) continue;
    if (SafeRead(object, inside, bytes / 8 * 8)) FollowVectors(inside, bytes / 8, step);
  }
}

void GraphWalk::Follow(const Step& step) {
  uintptr_t fields[kLastField / 8] = {};
  switch (step.what) {
    case Class::kStorage:
      if (!SafeRead(step.object, fields, sizeof(fields))) return;
      for (size_t i = kFirstField / 8; i < sizeof(fields) / 8; ++i) {
        Target* const target = targets_.Find(fields[i]);
        if (target == nullptr || (step.name == nullptr && !step.is_grad)) continue;
        if (target->node != 0 && target->end != trace::HolderEnd::kOpaque) continue;
        target->is_gradient = step.is_grad;
        target->native_class = step.is_grad ? nullptr : step.name;
        targets_.Found(target, step.owner, step.is_grad ? trace::HolderEnd::kPath : trace::HolderEnd::kGraph);
      }
      return;
    case Class::kTensor:
      if (!SafeRead(step.object, fields, sizeof(fields))) return;
      return FollowWords(fields + kFirstField / 8, (kLastField - kFirstField) / 8, step);
    case Class::kMeta:
    case Class::kNode: {
      const size_t bytes = BlockBytes(step.object);
      if (bytes == 0 || !SafeRead(step.object, words_, bytes / 8 * 8)) return;
      const size_t count = bytes / 8;
      FollowWords(words_ + 1, count - 1, step);
      if (step.what == Class::kMeta) return;
      FollowVectors(words_, count, step);
      if (IsPythonNode(step.object)) FollowPythonFunction(count, step);
      return;
    }
    case Class::kUnknown:
      return;
  }
}

bool GraphWalk::Initialize() {
  if (!AllocatorIsGlibc()) return false;
  known_ = memory_.TakeArray<Known>(kKnown);
  steps_ = memory_.TakeArray<Step>(kMaxObjects);
  words_ = memory_.TakeArray<uintptr_t>(kMaxBytes / 8);
  more_words_ = memory_.TakeArray<uintptr_t>(kMaxBytes / 8);
  return known_ != nullptr && steps_ != nullptr && words_ != nullptr && more_words_ != nullptr &&
         seen_.Initialize();
}

void GraphWalk::Run(const NodeList& tensors) {
  if (is_unusable_ || next_tensor_ >= tensors.size()) return;
  if (known_ == nullptr && !Initialize()) {
    is_unusable_ = true;
    return;
  }
  constexpr size_t kPerCheck = 64;
  for (; next_tensor_ < tensors.size() && count_ < kMaxObjects; ++next_tensor_) {
    uintptr_t fields[2] = {};
    if (!SafeRead(tensors.word(next_tensor_) + 16, fields, sizeof(fields))) continue;
    const uintptr_t impl = fields[0] <= 1 ? fields[1] : fields[0];
    Reach(impl, {0, tensors.parent(next_tensor_), Class::kUnknown, false, nullptr});
    for (; next_ < count_; ++next_) {
      if (next_ % kPerCheck == 0 && clock_.IsUp()) return;
      if (targets_.found() == targets_.count()) return;
      Follow(steps_[next_]);
    }
  }
}

}  // namespace plateau::python::holders
