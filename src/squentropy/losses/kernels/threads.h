// Threads: those of the OpenMP runtime that PyTorch has loaded, or else new ones.
//
// PyTorch's threads wait for their next work in a loop for a while before they sleep. Threads beside them would share the
// processor's cores with that waiting; on the same threads, work begins within a microsecond.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#include <pthread.h>
#endif

namespace squentropy {
namespace {

constexpr int64_t kFewestLogits = 4096;     // with fewer, waking threads takes longer than the work
constexpr int64_t kLogitsOfThread = 32768;  // the same for threads that have to be started

// `GOMP_parallel` of GCC's runtime, which LLVM's and Intel's have, too: runs function(data) on a team of threads.
using Parallel = void (*)(void (*function)(void*), void* data, unsigned threads, unsigned flags);

// Null where there is no such runtime, and in a forked process, which has none of its parent's threads.
Parallel parallel() {
#if defined(__unix__) || defined(__APPLE__)
  static bool is_forked = false;
  static const Parallel found = [] {
    pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
    return reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  }();
  return is_forked ? nullptr : found;
#else
  return nullptr;
#endif
}

// Of `most` threads, how many are to work on so many logits. All or one: the runtime dismisses the rest of a team.
int64_t threads_for(int64_t logits, int64_t most) {
  if (parallel()) return logits < kFewestLogits ? 1 : most;
  const int64_t useful = logits / kLogitsOfThread;
  return useful < 1 ? 1 : useful < most ? useful : most;
}

// Runs work() on up to `count` threads, the caller's among them; fewer do the same work if the system has no more.
template <class Function>
void in_threads(int64_t count, Function& work) {
  if (count > 1 && parallel()) {
    parallel()([](void* data) { (*static_cast<Function*>(data))(); }, &work, static_cast<unsigned>(count), 0);
    return;
  }
  std::vector<std::thread> threads;
  try {
    threads.reserve(count);
    while (static_cast<int64_t>(threads.size()) + 1 < count) threads.emplace_back(std::ref(work));
  } catch (...) {
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace squentropy
