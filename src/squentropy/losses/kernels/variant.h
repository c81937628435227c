// What each variant offers.
#pragma once

#include "arguments.h"

namespace squentropy {

struct Kernel {
  // The number of units of work: samples, or tiles of them.
  int64_t (*units)(const Arguments&);
  // Write the losses and gradients of a range of units, and return the sum of the losses.
  double (*losses)(const Work&, bool* is_out_of_memory);
  // Write a number of `value_dtype`.
  void (*store_value)(const Arguments&, char* to, int64_t place, double value);
};

extern const Kernel baseline, avx2, avx512;

}  // namespace squentropy
