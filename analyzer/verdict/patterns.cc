#include "analyzer/verdict/patterns.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "analyzer/verdict/pattern_matchers.h"

namespace plateau::verdict {

const std::vector<Pattern>& PatternCatalogue() {
  static const std::vector<Pattern> catalogue = {
      {"K01", "DataLoader workers copy the parent's pages",
       "Reading a Python object writes its reference count, so each worker copies the data set's pages "
       "little "
       "by little, up to all that was shared when it was forked.",
       "Keep the data set in numpy arrays, Arrow or shared tensors instead of lists of Python objects; use "
       "fewer workers.",
       false},
      {"K02", "Persistent workers grow at every epoch",
       "State made when an epoch's iterator is created stays in the worker or in its prefetch queue.",
       "Look for what the data set keeps per epoch. Lowering prefetch_factor or turning persistent_workers "
       "off "
       "limits it.",
       true},
      {"K03", "Pinned memory rounded up to a power of two",
       "The pinned allocator hands out powers of two; a request just above one wastes almost half.",
       "Ask for sizes just below a power of two, or pin one large buffer yourself.", false},
      {"K04", "Pinned memory is cached and never returned",
       "By design the caching allocator keeps pinned blocks per size class. It stops growing when every size "
       "has been seen.",
       "Use few different batch shapes, or pin_memory=False where copies to the device are no bottleneck.",
       false},
      {"K05", "Evaluation accumulates predictions",
       "Predictions of all evaluation batches are kept until the end, with a copy at each concatenation.",
       "Set eval_accumulation_steps, reduce logits with preprocess_logits_for_metrics, or evaluate on fewer "
       "examples.",
       false},
      {"K06", "A loss or output is kept with its graph",
       "Something kept per step still refers to the autograd graph, which keeps every saved activation of "
       "that step.",
       "Keep loss.item() or loss.detach(), not the tensor itself.", true},
      {"K07", "A list of metrics, logs or outputs",
       "An accumulator that is emptied at the end of an epoch, or never.",
       "Reduce to numbers while the epoch runs; clear the list at its end.", false},
      {"K08", "Cyclic garbage waits for the collector",
       "Objects in reference cycles live until the collector's oldest generation runs; then they are freed "
       "in one burst.",
       "Break the cycle, or call gc.collect() every few hundred steps.", false},
      {"K09", "The allocator keeps freed memory",
       "Freed blocks lie between live ones, in many arenas, or below a high-water mark; the pages stay "
       "resident.",
       "Set MALLOC_ARENA_MAX=2 or a fixed MALLOC_MMAP_THRESHOLD_, call malloc_trim at the ends of epochs, or "
       "use jemalloc.",
       false},
      {"K10", "Mapped files counted as memory",
       "Pages of memory-mapped files count as resident although the kernel can drop them at any time.",
       "Nothing to fix; watch RssAnon instead of RSS.", false},
      {"K11", "Every example is decoded once and kept",
       "Lazily loaded images, a memoising data set or a list of decoded samples fill up during the first "
       "epoch.",
       "Decode on access and drop the decoded copy, or size memory for the whole data set.", false},
      {"K12", "A bounded cache is full or filling",
       "An LRU cache of processed inputs: every new entry now evicts an old one.",
       "Nothing to fix; lower the cache's limit if it takes too much.", false},
      {"K13", "A tokenizer's cache",
       "Tokenizers remember strings they have seen; growth falls with the number of new strings.",
       "Limit or disable the tokenizer's cache, or restart the process that tokenizes now and then.", false},
      {"K14", "Kernels cached per shape",
       "oneDNN, cuDNN and the like compile or plan once per distinct shape and keep the result.",
       "Pad or bucket the input lengths; set the cache capacity (ONEDNN_PRIMITIVE_CACHE_CAPACITY).", false},
      {"K15", "Compiler caches (torch.compile, Triton)",
       "Each recompilation keeps guards, graphs and code. If it is the same amount in every step, guards "
       "leak.",
       "Find out why it recompiles (TORCH_LOGS=recompiles), and mark the dimensions that change as dynamic.",
       false},
      {"K16", "Autotuning in the first iterations",
       "Benchmarking kernels and priming pools takes workspace in the first few steps and no more.",
       "Nothing to fix; measure after the first ten steps.", false},
      {"K17", "The device's caching allocator fragments",
       "Reserved segments grow while the live tensors do not: varying sizes do not fit the free pieces.",
       "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or use fewer different lengths.", false},
      {"K18", "Communicator buffers",
       "Every communicator takes its own buffers when it is created, invisible to the framework.",
       "Create process groups once; NCCL_BUFFSIZE lowers their size.", false},
      {"K19", "A leak inside the communication library",
       "The same few bytes are kept per collective call from one site in the library.",
       "Update the library. If that does not help, report the size per call to its authors.", true},
      {"K20", "Checkpoint saves",
       "Saving gathers or copies the state for a moment. What stays after each save is a leak.",
       "Save in shards, one tensor at a time, or from a copy on the CPU.", false},
      {"K21", "Shared memory segments",
       "Tensors sent between processes live in shared memory until the last handle is closed.",
       "Close what is sent when it has been used, lower prefetch_factor, or use the file_system sharing "
       "strategy.",
       false},
      {"K22", "The observer keeps what it observes",
       "Profilers and trackers keep their records in memory until they are flushed.",
       "Profile only a few steps, and flush or disable the tracker.", true},
      {"K23", "A video decoder leaks",
       "A constant amount per opened video stays in the decoder's native code.",
       "Close readers explicitly, update the decoder, or decode in a process that is restarted now and then.",
       true},
      {"K24", "Open shards of a streamed data set",
       "Each open shard holds its buffers until it ends; they are freed together.",
       "Use smaller shards or row groups, and fewer workers.", false},
      {"K25", "Longer inputs later",
       "The peak within a step follows the longest input so far, while what remains after each step is "
       "constant.",
       "Run the longest batch first, to see the real peak at once, or cap the length.", false},
      {"K26", "A high-water mark read as current memory",
       "ru_maxrss and similar numbers never fall, whatever the program frees.",
       "Read VmRSS or RssAnon instead.", false},
      {"K27", "Vision fine-tuning, undecided",
       "Growth at image processing before the end of the first epoch: a cache, or something that piles up. "
       "The steps after the "
       "first epoch decide.",
       "Run past the first epoch, then read the verdict again.", false},
      {"K28", "Threads pile up",
       "Threads are started again and again and do not end; each holds its stack and whatever it refers to.",
       "Use one pool of threads for the whole run, and join what you start.", true},
      {"K29", "Open files pile up",
       "Files, pipes or sockets are opened again and again and not closed; the process dies at its limit "
       "(ulimit -n), "
       "and each holds its buffers.",
       "Open with a `with` statement, or close explicitly.", true},
      {"K42", "Mappings pile up",
       "Files or memory are mapped again and again and not unmapped; the process dies at the kernel's limit "
       "(vm.max_map_count, 65,530 unless it was raised), and each map keeps its pages and the space of its "
       "file.",
       "Unmap what is done with (close mmap objects, drop np.memmap arrays and their views), or map one file "
       "in parts.",
       true},
      {"K30", "Figures stay open",
       "pyplot keeps every figure until it is closed, with its canvas and all its data.",
       "Call plt.close(figure) after saving, or use matplotlib.figure.Figure without pyplot.", true},
      {"K31", "Writers are never closed",
       "Each writer of event files has a thread, a queue and an open file until it is closed.",
       "Make one SummaryWriter for the run, or close each.", true},
      {"K32", "Exceptions are kept with their frames",
       "An exception refers to its traceback, and that to every frame on the way with all its local "
       "variables.",
       "Keep str(error), or clear it with error.with_traceback(None).", true},
      // By who holds it, see holder_patterns.h.
      {"K33", "A callback keeps what it is given",
       "The trainer keeps its callbacks for the whole run, so whatever a callback puts into an attribute of "
       "its "
       "own stays with it: batches, outputs, losses.",
       "Keep only numbers (.item(), or .detach().cpu() of what you need), or empty the attribute at the end "
       "of "
       "each epoch.",
       true},
      {"K34", "The log history grows",
       "Each call of the logger appends to trainer.state.log_history, which is kept and written with every "
       "checkpoint.",
       "Log less often (logging_steps), log numbers and no tensors, or cut the list in a callback.", true},
      {"K35", "A metric object keeps its inputs",
       "A metric with list states keeps every prediction and target until it is reset.",
       "Call metric.reset() at the end of each epoch, or use a metric that keeps sums instead of its inputs.",
       true},
      {"K36", "A hook keeps what it sees",
       "A hook of a module lives as long as the module, and its closure or object keeps what it appends to.",
       "Detach what the hook keeps, empty it after each step, and remove the hook with handle.remove().",
       true},
      {"K37", "A stored exception keeps its frames",
       "An exception that is kept (in a list, in sys.last_exc of an interactive session) refers to its "
       "traceback, "
       "and that to every frame with all its local variables.",
       "Keep str(error), call traceback.clear_frames(error.__traceback__), or del sys.last_exc, "
       "sys.last_value.",
       true},
      {"K38", "A collection at module level is never emptied",
       "A list, dict or set that a name of a module stands for lives until the program ends; what is added "
       "to it "
       "stays.",
       "Empty it where its work is done, give it a bound (collections.deque(maxlen=...)), or make it a "
       "local.",
       true},
      {"K39", "functools.lru_cache without a bound",
       "A cache with maxsize=None (or functools.cache) keeps the arguments and the result of every different "
       "call; on a method it keeps every self as well.",
       "Give it a maxsize, call cache_clear() between epochs, or cache by a small key.", true},
      {"K40", "The data set keeps what it makes",
       "An attribute of the data set object (a list, a dict) keeps examples or what was decoded from them; "
       "each "
       "worker has its own copy.",
       "Do not keep decoded examples in self; cache encoded ones, or give the cache a bound.", false},
      {"K41", "Batches wait in a prefetch queue",
       "Workers run ahead of the training: prefetch_factor x workers batches are in the queue at any time.",
       "Lower prefetch_factor or the number of workers. If the queue grows, the training is too slow for it.",
       false},
  };
  return catalogue;
}

namespace {

// Does a match speak of what the headline speaks of: the same site, or the same thing beside the sites?
bool ExplainsHeadline(const PatternMatch& match, const ProcessVerdict& process) {
  if (process.headline_site) return match.site == process.headline_site;
  const std::string_view id = match.pattern->id;
  switch (process.headline.kind) {
    case VerdictKind::kWorkerDuplication:
      return id == "K01";
    case VerdictKind::kFragmentation:
    case VerdictKind::kAllocatorRetention:
      return id == "K09";
    case VerdictKind::kUntracedGrowth:
      return id == "K10" || id == "K21" || id == "K28" || id == "K42";
    default:
      return false;
  }
}

// What is counted piles up by any clock; all else is about what steps leave behind.
bool IsOfCounts(std::string_view id) { return id == "K28" || id == "K29" || id == "K42"; }

}  // namespace

std::vector<PatternMatch> MatchPatterns(const EvidenceBundle& evidence) {
  std::vector<PatternMatch> matches;
  for (const Pattern& pattern : PatternCatalogue()) {
    if (!evidence.run.CountsSteps() && !IsOfCounts(pattern.id)) continue;
    if (std::optional<PatternMatch> match = MatchPattern(pattern, evidence)) {
      match->explains_headline = ExplainsHeadline(*match, evidence.process);
      matches.push_back(*std::move(match));
    }
  }
  std::stable_sort(matches.begin(), matches.end(), [](const PatternMatch& a, const PatternMatch& b) {
    return std::tuple(!a.explains_headline, -a.bytes) < std::tuple(!b.explains_headline, -b.bytes);
  });
  return matches;
}

}  // namespace plateau::verdict
