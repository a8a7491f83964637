#include "preload/base/import_slots.h"

#include <elf.h>

#include "preload/base/page_size.h"
#include "preload/base/system_call.h"

namespace plateau {
namespace {}  // namespace

ImportView::ImportView(const dl_phdr_info& info) : base_(info.dlpi_addr) {
  const ElfW(Dyn)* dynamic = nullptr;
  begin_ = UINTPTR_MAX;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const uintptr_t begin = base_ + segment.p_vaddr;
    const uintptr_t end = begin + segment.p_memsz;
    if (segment.p_type == PT_LOAD) {
      if (begin < begin_) begin_ = begin;
      if (end > end_) end_ = end;
    } else if (segment.p_type == PT_GNU_RELRO) {
      read_only_begin_ = begin & ~(PageBytes() - 1);
      read_only_end_ = end & ~(PageBytes() - 1);  // as the loader does it: a part of a page stays writable
    } else if (segment.p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    }
  }
  if (begin_ > end_) begin_ = end_ = 0;
  if (dynamic == nullptr) return;
  size_t call_bytes = 0, relocation_bytes = 0;
  size_t relative_count = 0;
  const uint32_t* gnu_hash = nullptr;
  bool is_rela = true;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const uintptr_t value = dynamic->d_un.d_ptr;
    const uintptr_t pointer = value < base_ ? base_ + value : value;  // the vDSO's are not relocated
    switch (dynamic->d_tag) {
      case DT_STRTAB:
        strings_ = reinterpret_cast<const char*>(pointer);
        break;
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(pointer);
        break;
      case DT_JMPREL:
        calls_ = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_PLTRELSZ:
        call_bytes = value;
        break;
      case DT_PLTREL:
        is_rela = value == DT_RELA;
        break;
      case DT_RELA:
        relocations_ = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_RELASZ:
        relocation_bytes = value;
        break;
      case DT_RELACOUNT:
        relative_count = value;
        break;
      case DT_GNU_HASH:
        gnu_hash = reinterpret_cast<const uint32_t*>(pointer);
        break;
      default:
        break;
    }
  }
  if (strings_ == nullptr || symbols_ == nullptr) return;
  if (calls_ != nullptr && is_rela) call_count_ = call_bytes / sizeof(ElfW(Rela));
  if (relocations_ != nullptr) relocation_count_ = relocation_bytes / sizeof(ElfW(Rela));
  // Those without a symbol come first, in large libraries a million of them.
  if (relative_count <= relocation_count_) {
    relocations_ += relative_count;
    relocation_count_ -= relative_count;
  }
  if (gnu_hash == nullptr || gnu_hash[0] == 0) return;
  // An object that defines nothing has one empty bucket, and says nothing about its symbols.
  const uint32_t* buckets = gnu_hash + 4 + 2 * gnu_hash[2];
  if (gnu_hash[0] != 1 || buckets[0] != 0) first_defined_symbol_ = gnu_hash[1];
}

bool ImportView::SetWritable(bool is_writable) const {
  return !sys::Failed(sys::Call(SYS_mprotect, sys::Arg(read_only_begin_),
                                sys::Arg(read_only_end_ - read_only_begin_),
                                is_writable ? PROT_READ | PROT_WRITE : PROT_READ));
}

bool ImportView::Write(uintptr_t* word, uintptr_t value) const {
  const uintptr_t address = reinterpret_cast<uintptr_t>(word);
  const bool is_read_only = address >= read_only_begin_ && address < read_only_end_;
  void* const page = reinterpret_cast<void*>(address & ~(PageBytes() - 1));
  if (is_read_only &&
      sys::Failed(sys::Call(SYS_mprotect, sys::Arg(page), sys::Arg(PageBytes()), PROT_READ | PROT_WRITE))) {
    return false;
  }
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  if (is_read_only) sys::Call(SYS_mprotect, sys::Arg(page), sys::Arg(PageBytes()), PROT_READ);
  return true;
}

}  // namespace plateau
