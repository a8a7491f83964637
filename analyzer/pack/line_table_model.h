// What the next byte of a Python line table may follow from: its place in the entry, the entries before.
//
// From Python 3.11 on an entry is a first byte with its upper bit set (form and length), then, by its form,
// columns or variable-length numbers of 6 bits a byte. Before, it is a pair of bytes.
#ifndef PLATEAU_ANALYZER_PACK_LINE_TABLE_MODEL_H_
#define PLATEAU_ANALYZER_PACK_LINE_TABLE_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/pack/byte_model.h"
#include "analyzer/pack/mixed_model.h"

namespace plateau {

class LineTableModel {
 public:
  // `version`: major << 8 | minor.
  void Start(uint64_t version) {
    *this = LineTableModel();
    has_columns_ = version >= (3 << 8 | 11);
  }

  void Fill(uint64_t last_bytes, ByteModel::Contexts* contexts) const {
    *contexts = {HashOf(so_far_, place_, 100), HashOf(so_far_, position_[0], 101),
                 HashOf(so_far_, entry_[0], HashOf(entry_[1], 103)),
                 HashOf(so_far_, position_[1], HashOf(position_[0], 105)),
                 HashOf(last_bytes & 0xffff, place_, 106)};
  }

  void Advance(uint8_t byte) {
    so_far_ = HashOf(so_far_, byte, 1);
    if (!has_columns_) {
      if (++place_ == 2) End(so_far_);
      return;
    }
    if (place_ == 0) {
      form_ = byte >> 3 & 15;
      without_length_ = form_;
      left_ = form_ < 10 ? 1 : form_ < 13 ? 2 : form_ == 13 ? 1 : form_ == 14 ? 4 : 0;
    } else {
      without_length_ = HashOf(without_length_, byte);
      const bool is_number = form_ >= 13;
      if (!is_number || (byte & 0x40) == 0) --left_;
    }
    ++place_;
    if (left_ == 0) End(without_length_);
  }

 private:
  void End(uint64_t position) {
    entry_ = {so_far_, entry_[0], entry_[1]};
    position_ = {position, position_[0]};
    so_far_ = 0;
    place_ = 0;
  }

  bool has_columns_ = true;
  uint32_t form_ = 0, left_ = 0, place_ = 0;
  uint64_t so_far_ = 0, without_length_ = 0;  // of this entry
  std::array<uint64_t, 3> entry_ = {};        // those before, the newest first
  std::array<uint64_t, 2> position_ = {};     // the same without their lengths
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_LINE_TABLE_MODEL_H_
