// The iterator that a fetch is asked of.
//
// Which batches belong to one pass over the data cannot be told from the line that fetches: a generator around
// a loader (accelerate, Lightning, prefetchers) takes its first batch at another line than the others, and two
// loaders may be fetched at one line. The range around __next__ is opened by a method of the iterator, so the
// iterator is the first argument of one of the newest frames; the class in the range's name says of which.
//
// Works where thread_view.h does. Allocates: never. Locks: never. Throws: never.
#ifndef PLATEAU_PRELOAD_TORCH_FETCH_OWNER_H_
#define PLATEAU_PRELOAD_TORCH_FETCH_OWNER_H_

#include <string_view>

namespace plateau {

// Address of the object of class `class_name` whose method is running; null when there is none among the
// newest frames. It says which one it is, and nothing more: the object may be gone when the range is over.
const void* FetchOwner(std::string_view class_name);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_FETCH_OWNER_H_
