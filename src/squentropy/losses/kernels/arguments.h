// What the Python side hands over, packed: every field has eight bytes, so that no compiler pads it.
#pragma once

#include <cstdint>

namespace squentropy {

enum Dtype : int64_t { kFloat32, kFloat64, kBFloat16, kFloat16 };
enum Reduction : int64_t { kNone, kMean, kSum };
enum Variant : int64_t { kBaseline, kAvx2, kAvx512 };
enum Status : int64_t { kDone, kTargetOutOfRange, kOutOfMemory };

struct Strides {
  int64_t outer, classes, inner;  // in elements
};

struct Arguments {
  const char* logits;        // (outer, classes, inner), of `dtype`
  char* gradient;            // the same; may be the logits; null: not wanted
  const char* target;        // class indices (outer, inner), int64; or probabilities as the logits, in the dtype of the computation
  const char* weight;        // (classes,) in the dtype of the computation, or null
  const char* sample_scale;  // (outer, inner) in the dtype of the computation: factors on the samples' gradients, or null
  char* losses;              // (outer, inner) of `value_dtype`, or null
  char* reduced;             // one number of `value_dtype`, or null
  double* softmax;           // (outer, inner, 2): what a call without gradient leaves for one with a gradient, or null
  int64_t dtype, value_dtype, is_soft, reduction, variant, threads;
  int64_t outer, classes, inner;
  Strides logits_stride, gradient_stride, target_stride;
  int64_t ignore_index;
  double label_smoothing, cross_entropy, wrong_square, true_square, M, scale;
};

// The samples that one call of a variant works on: units of work [first, last) of the whole.
struct Work {
  const Arguments& arguments;
  double gradient_scale;
  int64_t first, last;
};

}  // namespace squentropy
