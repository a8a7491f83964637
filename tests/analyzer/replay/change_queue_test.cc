#include "analyzer/replay/change_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace plateau::replay {
namespace {

Change Numbered(uint64_t number) {
  Change change{};
  change.bytes = number;
  change.kind = ChangeKind::kBorn;
  return change;
}

// Counts what comes out and checks that it is 0, 1, 2, ...
uint64_t TakeAll(ChangeQueue* queue) {
  uint64_t next = 0;
  while (const ChangeBatch* batch = queue->Take()) {
    for (const Change& change : batch->changes) {
      EXPECT_EQ(change.bytes, next);
      ++next;
    }
    queue->Return();
  }
  return next;
}

TEST(ChangeQueueTest, ChangesComeOutInOrderWhoeverIsFaster) {
  constexpr uint64_t kChanges = 40 * ChangeQueue::kBatchChanges + 7;
  ChangeQueue queue;
  std::thread writing([&queue] {
    ChangeWriter writer(&queue);
    for (uint64_t i = 0; i < kChanges; ++i) writer.Append(Numbered(i));
    queue.Close();
  });
  EXPECT_EQ(TakeAll(&queue), kChanges);
  writing.join();
}

TEST(ChangeQueueTest, NothingWrittenIsNothingTaken) {
  ChangeQueue queue;
  {
    ChangeWriter writer(&queue);
    queue.Close();
  }
  EXPECT_EQ(TakeAll(&queue), 0u);
}

TEST(ChangeQueueTest, WhatAChangePointsToIsInItsBatch) {
  ChangeQueue queue;
  ChangeWriter writer(&queue);
  for (uint64_t i = 0; i < ChangeQueue::kBatchChanges; ++i) writer.Append(Numbered(i));
  ChangeBatch* const room = writer.Room();
  room->folds.push_back({.stack = 9});
  Change fold{};
  fold.kind = ChangeKind::kFold;
  writer.Append(fold);
  queue.Close();
  EXPECT_EQ(queue.Take()->changes.size(), ChangeQueue::kBatchChanges);
  const ChangeBatch* second = queue.Take();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->folds.at(second->changes.at(0).index).stack, 9u);
}

}  // namespace
}  // namespace plateau::replay
