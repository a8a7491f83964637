#include "analyzer/reader/record_text.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "analyzer/reader/trace_reader.h"
#include "preload/trace/decoder.h"
#include "tests/support/trace_text.h"

namespace plateau::reader {
namespace {

// Every kind of record, as it is printed.
constexpr char kEveryKind[] = R"(@10 alloc address=0x7f0010 bytes=10001 stack=3
alloc address=0x7f0021 bytes=10002 stack=3 realloc
free address=0x7f0010
@12 free address=0x7f0021 realloc
node node=3 parent=2 location=7
pc location=7 module=1 offset=0x1234
@20 time
info key="exe" value="/opt/\"train\""
module module=1 base=0x400000 begin=0x401000 bytes=65536 path="/opt/train" build_id=0badcafe
module_gone module=1
code code=5 python=0x30b line=12 file="train.py" name="Model.forward" table=00ff10
python_location location=8 code=5 offset=22
thread_start thread=4242 creator=1 stack=3 name="worker"
thread_end
map address=0x10000 bytes=4096 prot=3 flags=0x22 kind=anonymous stack=3
unmap address=0x10000 bytes=4096
remap old=0x10000 old_bytes=4096 new=0x20000 new_bytes=8192 stack=3
break new=0x30000 change=-4096 stack=3
mark kind=step source=explicit value=12 name="train"
ledger rss_anon=1000 own=20
drop reason=reentrant events=2 bytes=64
rate mode=default exact_from=16384 sample=524288
device op=1 level=1 memory=1 device=-1 address=0x500 bytes=100 handle=0x0 total=0 reserved=0 stack=3 api="cudaMalloc"
tensor address=0x7f0010 bytes=10001
tensor_gone address=0x7f0010
realloc_cancel
fork child=4243
alloc_in address=0x99 bytes=48 stack=3
free_in address=0x99
holder_walk walk=2 reason=steps result=cut_by_time step=64 objects=1001919 elapsed=190000000 own=50000000 asked=64 found=60 garbage=7 garbage_bytes=70007 frozen=12 limit=500000000 gc_disabled
holder walk=2 stack=3 end=path found=60 asked=64 bytes=600060 container=0x7f1000 length=1240 bound=128 at=4 native_stack=0 type="list" what="" in="module,0,__main__" in="global,0,trainer" in="attribute,0,meter" in="attribute,0,history" in="index,0," in="key,1,a \"loss\", b"
attach number=2 age=36720000000000 rss_anon=3328599654 rss_file=20 rss_shmem=3 own=4096 arena=1001 arena_free=101 arena_mmap=11 words=868 modules=314 left_out=2 held=36000000 program_imports
residency region=map address=0x10000 bytes=1073741824 resident=4096 birth=512
fold_totals stack=3 allocs_256=512 alloc_bytes=6 frees_256=256 free_bytes=8
totals allocs=1 alloc_bytes=2 frees=3 freed_bytes=4 recorded_allocs=5 recorded_frees=6
unknown kind=999
)";

TEST(RecordTextTest, EveryKindSurvivesTextTraceAndText) {
  const std::string path = testing::WriteTemporary("every-kind.plt", testing::TraceFromText(kEveryKind));
  const auto reader = TraceReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_EQ((*reader)->streams().size(), 1u);
  std::string text;
  for (const BlockRef& ref : (*reader)->streams()[0].blocks) {
    LoadedBlock block;
    ASSERT_TRUE((*reader)->Load(ref, &block).ok());
    trace::RecordReader records(block.header, block.payload);
    trace::Record record;
    while (records.Next(&record)) text += RecordToText(record) + "\n";
    EXPECT_FALSE(records.damaged());
  }
  EXPECT_EQ(text, kEveryKind);
}

}  // namespace
}  // namespace plateau::reader
