#include "analyzer/replay/change_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "analyzer/replay/live_object.h"

namespace plateau::replay {
namespace {

Change Numbered(uint32_t number) {
  Change change{};
  change.bytes = number;
  change.kind = ChangeKind::kBorn;
  return change;
}

// Counts what comes out and checks that it is 0, 1, 2, ...
uint32_t TakeAll(ChangeQueue* queue) {
  uint32_t next = 0;
  while (const ChangeBatch* batch = queue->Take()) {
    for (size_t i = 0; i < batch->size; ++i) EXPECT_EQ(batch->others.at(batch->words[i]).bytes, next++);
    queue->Return();
  }
  return next;
}

TEST(ChangeQueueTest, ChangesComeOutInOrderWhoeverIsFaster) {
  constexpr uint32_t kChanges = 40 * ChangeBatch::kChanges + 7;
  ChangeQueue queue;
  std::thread writing([&queue] {
    ChangeWriter writer(&queue);
    for (uint32_t i = 0; i < kChanges; ++i) writer.Append(Numbered(i));
    writer.Close();
  });
  EXPECT_EQ(TakeAll(&queue), kChanges);
  writing.join();
}

TEST(ChangeQueueTest, NothingWrittenIsNothingTaken) {
  ChangeQueue queue;
  {
    ChangeWriter writer(&queue);
    writer.Close();
  }
  EXPECT_EQ(TakeAll(&queue), 0u);
}

TEST(ChangeQueueTest, WhatAChangePointsToIsInItsBatch) {
  ChangeQueue queue;
  ChangeWriter writer(&queue);
  for (uint32_t i = 0; i < ChangeBatch::kChanges; ++i) writer.Append(Numbered(i));
  ChangeBatch* const room = writer.Room();
  room->folds.push_back({.stack = 9});
  Change fold{};
  fold.kind = ChangeKind::kFold;
  writer.Append(fold);
  writer.Append(Numbered(7), {.bytes = uint64_t{1} << 40, .object_bytes = 0, .label = 0});
  writer.Close();
  EXPECT_EQ(queue.Take()->size, ChangeBatch::kChanges);
  const ChangeBatch* second = queue.Take();
  ASSERT_NE(second, nullptr);
  ASSERT_EQ(second->size, 2u);
  EXPECT_EQ(second->folds.at(second->others.at(second->words[0]).bytes).stack, 9u);
  EXPECT_EQ(second->BytesOf(second->others.at(second->words[1])), uint64_t{1} << 40);
}

TEST(ChangeQueueTest, WordsOfObjectsAndOtherChangesKeepTheirOrder) {
  constexpr uint32_t kChanges = 3 * ChangeBatch::kChanges;
  ChangeQueue queue;
  ChangeWriter writer(&queue);
  for (uint32_t i = 0; i < kChanges; ++i) {
    if (i % 7 == 3) {
      writer.Append(Numbered(i));
    } else {
      writer.AppendWord(PackedObject::Plain(i % 5, i, 9).word() | (i % 2 == 0 ? PackedObject::kDied : 0));
    }
  }
  writer.Close();
  uint32_t next = 0;
  while (const ChangeBatch* batch = queue.Take()) {
    for (size_t k = 0; k < batch->size; ++k, ++next) {
      const PackedObject object(batch->words[k]);
      ASSERT_EQ(object.is_plain(), next % 7 != 3);
      ASSERT_EQ(object.is_plain() ? object.bytes() : batch->others.at(batch->words[k]).bytes, next);
      if (!object.is_plain()) continue;
      ASSERT_EQ(object.era(), next % 5);
      ASSERT_EQ(object.has_died(), next % 2 == 0);
      ASSERT_EQ(object.stack(), 9u);
    }
    queue.Return();
  }
  EXPECT_EQ(next, kChanges);
}

TEST(ChangeQueueTest, WhoWouldWaitDoesOtherWorkFirst) {
  std::atomic<int> pieces = 100;
  ChangeQueue queue([&pieces] { return pieces.fetch_sub(1) > 0; });
  std::thread writing([&] {
    ChangeWriter writer(&queue);
    while (pieces > 0) std::this_thread::yield();  // nothing but the waiting reader works on them
    for (uint32_t i = 0; i < 20 * ChangeBatch::kChanges; ++i) writer.Append(Numbered(i));
    writer.Close();
  });
  EXPECT_EQ(TakeAll(&queue), 20 * ChangeBatch::kChanges);
  writing.join();
  EXPECT_LE(pieces, 0);
}

}  // namespace
}  // namespace plateau::replay
