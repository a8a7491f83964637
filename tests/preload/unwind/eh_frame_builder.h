// Writes .eh_frame_hdr and .eh_frame as a linker would, into one buffer, for code that exists only as
// addresses.
//
//   EhFrameBuilder builder;
//   builder.AddFunction(0x1000, 0x40, {program bytes});
//   std::vector<uint8_t> image = builder.Build();     // the header is at offset 0, code addresses count from
//   there
#ifndef PLATEAU_TESTS_PRELOAD_UNWIND_EH_FRAME_BUILDER_H_
#define PLATEAU_TESTS_PRELOAD_UNWIND_EH_FRAME_BUILDER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace plateau::unwind {

class EhFrameBuilder {
 public:
  using Bytes = std::vector<uint8_t>;

  // What gcc writes: CFA = rsp + 8, return address at CFA - 8.
  Bytes cie_program = {0x0c, 7, 8, 0x80 | 16, 1};
  std::string augmentation = "zR";
  bool with_table = true;
  uint8_t version = 1;
  uint8_t return_register = 16;

  void AddFunction(int32_t begin, int32_t bytes, Bytes program) {
    functions_.push_back({begin, bytes, std::move(program)});
  }

  Bytes Build() const {
    std::vector<Function> functions = functions_;
    std::sort(functions.begin(), functions.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    Bytes image = {1, 0x1b, static_cast<uint8_t>(with_table ? 0x03 : 0xff),
                   static_cast<uint8_t>(with_table ? 0x3b : 0xff)};
    Put32(&image, 0);  // .eh_frame, set below
    if (with_table) Put32(&image, static_cast<int32_t>(functions.size()));
    const size_t table = image.size();
    if (with_table) image.resize(image.size() + 8 * functions.size());
    while (image.size() % 8 != 0) image.push_back(0);
    Set32(&image, 4, static_cast<int32_t>(image.size() - 4));

    const size_t cie = image.size();
    Bytes body = {version};
    for (const char letter : augmentation) body.push_back(static_cast<uint8_t>(letter));
    body.push_back(0);
    body.push_back(1);     // code alignment
    body.push_back(0x78);  // data alignment -8
    body.push_back(return_register);
    if (!augmentation.empty() && augmentation[0] == 'z') {
      const auto pointers = std::count(augmentation.begin(), augmentation.end(), 'R');
      body.push_back(static_cast<uint8_t>(pointers));
      for (int i = 0; i < pointers; ++i) body.push_back(0x1b);
    }
    body.insert(body.end(), cie_program.begin(), cie_program.end());
    PutEntry(&image, 0, body);

    for (size_t i = 0; i < functions.size(); ++i) {
      const size_t fde = image.size();
      if (with_table) {
        Set32(&image, table + 8 * i, functions[i].begin);
        Set32(&image, table + 8 * i + 4, static_cast<int32_t>(fde));
      }
      Bytes fields;
      Put32(&fields, functions[i].begin - static_cast<int32_t>(fde + 8));
      Put32(&fields, functions[i].bytes);
      if (!augmentation.empty() && augmentation[0] == 'z') fields.push_back(0);
      fields.insert(fields.end(), functions[i].program.begin(), functions[i].program.end());
      PutEntry(&image, static_cast<int32_t>(fde + 4 - cie), fields);
    }
    Put32(&image, 0);  // terminator
    return image;
  }

 private:
  struct Function {
    int32_t begin;
    int32_t bytes;
    Bytes program;
  };

  static void Put32(Bytes* to, int32_t value) {
    const size_t at = to->size();
    to->resize(at + 4);
    Set32(to, at, value);
  }
  static void Set32(Bytes* to, size_t at, int32_t value) { std::memcpy(to->data() + at, &value, 4); }
  static void PutEntry(Bytes* image, int32_t id, Bytes body) {
    while ((body.size() + 4) % 8 != 4) body.push_back(0);  // nop
    Put32(image, static_cast<int32_t>(body.size() + 4));
    Put32(image, id);
    image->insert(image->end(), body.begin(), body.end());
  }

  std::vector<Function> functions_;
};

}  // namespace plateau::unwind

#endif  // PLATEAU_TESTS_PRELOAD_UNWIND_EH_FRAME_BUILDER_H_
