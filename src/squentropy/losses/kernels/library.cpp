// The library that Python loads: checks the targets, shares the samples out among threads, reduces the losses.
#include <atomic>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "threads.h"
#include "variant.h"

namespace squentropy {
namespace {

constexpr int64_t kChunks = 256;            // the sum of the losses has this order, whatever the number of threads
constexpr int64_t kHelpings = 8;  // how often a thread comes for chunks
constexpr int64_t kHugePage = 1 << 21;

#if defined(__x86_64__)
const Kernel* const kKernels[] = {&baseline, &avx2, &avx512};
#else
const Kernel* const kKernels[] = {&baseline};
#endif

// The sum of the samples' class weights, or -1 if a class is out of range.
double total_weight(const Arguments& arguments) {
  const int64_t samples = arguments.outer * arguments.inner;
  if (arguments.is_soft) return static_cast<double>(samples);
  const auto* target = reinterpret_cast<const int64_t*>(arguments.target);
  double total = 0.0;
  int64_t kept = 0;
  bool is_wrong = false;
  for (int64_t i = 0; i < samples; ++i) {
    const bool is_kept = target[i] != arguments.ignore_index;
    is_wrong |= is_kept && static_cast<uint64_t>(target[i]) >= static_cast<uint64_t>(arguments.classes);
    kept += is_kept;
  }
  if (is_wrong) return -1.0;
  if (!arguments.weight) return static_cast<double>(kept);
  for (int64_t i = 0; i < samples; ++i)
    if (target[i] != arguments.ignore_index)
      total += arguments.dtype == kFloat64 ? reinterpret_cast<const double*>(arguments.weight)[target[i]]
                                           : reinterpret_cast<const float*>(arguments.weight)[target[i]];
  return total;
}

// A new gradient costs more to be mapped, page by page, than to be computed: ask for large pages.
void ask_for_huge_pages(const Arguments& arguments) {
#if defined(MADV_HUGEPAGE)
  const int64_t sizes[] = {4, 8, 2, 2};
  const int64_t bytes = arguments.outer * arguments.classes * arguments.inner * sizes[arguments.dtype];
  if (!arguments.gradient || arguments.gradient == arguments.logits || bytes < 2 * kHugePage) return;
  const auto start = reinterpret_cast<uintptr_t>(arguments.gradient);
  const uintptr_t first = (start + kHugePage - 1) / kHugePage * kHugePage, last = (start + bytes) / kHugePage * kHugePage;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

int64_t run(const Arguments& arguments) {
  const Kernel& kernel = *kKernels[arguments.variant];
  const double weight = total_weight(arguments);
  if (weight == -1.0) return kTargetOutOfRange;
  ask_for_huge_pages(arguments);

  const double divisor = arguments.reduction == kMean ? weight : 1.0;
  const int64_t units = kernel.units(arguments);
  const int64_t chunks = units < kChunks ? units : kChunks;
  const int64_t logits = arguments.outer * arguments.classes * arguments.inner;
  const int64_t threads = threads_for(logits, arguments.threads);
  const int64_t helping = chunks / (kHelpings * threads) > 0 ? chunks / (kHelpings * threads) : 1;
  double sums[kChunks] = {};
  std::atomic<int64_t> next{0};
  std::atomic<bool> is_out_of_memory{false};
  auto work = [&] {
    for (int64_t first; (first = next.fetch_add(helping)) < chunks;)
      for (int64_t chunk = first; chunk < first + helping && chunk < chunks; ++chunk) {
        bool failed = false;
        sums[chunk] = kernel.losses(
            {arguments, arguments.scale / divisor, chunk * units / chunks, (chunk + 1) * units / chunks}, &failed);
        if (failed) is_out_of_memory = true;
      }
  };
  in_threads(threads, work);
  if (is_out_of_memory) return kOutOfMemory;
  if (arguments.reduced) {
    double total = 0.0;
    for (const double sum : sums) total += sum;
    kernel.store_value(arguments, arguments.reduced, 0, total / divisor);
  }
  return kDone;
}

}  // namespace
}  // namespace squentropy

#define EXPORT extern "C" __attribute__((visibility("default")))

// The size of what the Python side packs: a library of another version does not fit.
EXPORT int64_t squentropy_size_of_arguments() { return sizeof(squentropy::Arguments); }

// The best variant that this processor runs.
EXPORT int64_t squentropy_best_variant() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return squentropy::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return squentropy::kAvx2;
#endif
  return squentropy::kBaseline;
}

EXPORT int64_t squentropy_run(const squentropy::Arguments* arguments) { return squentropy::run(*arguments); }
