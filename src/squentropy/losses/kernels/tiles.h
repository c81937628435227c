// Samples whose classes lie apart in memory, or are few: vectors run along the samples.
//
// A tile of samples is brought into a scratch area, class after class, which fits the first cache whatever the strides
// are; each logit is read once and each gradient written once.
#pragma once

#include <cmath>
#include <cstdlib>

#include "arguments.h"
#include "vectors.h"

namespace squentropy {
namespace {

constexpr int64_t kTileBytes = 16384;
constexpr int64_t kLargestTile = 128;  // samples

template <class Real>
INLINE int64_t samples_of_tile(int64_t num_classes, int64_t inner) {
  constexpr int64_t lanes = kLanes<Real>;
  int64_t samples = kTileBytes / static_cast<int64_t>(sizeof(Real)) / num_classes;
  samples = samples < kLargestTile ? samples : kLargestTile;
  samples = samples < inner ? samples : inner;
  return samples < lanes ? lanes : (samples + lanes - 1) / lanes * lanes;
}

// Elements (class, sample) of memory to a dense scratch area; samples past the end are 0.
template <class Stored, class Real>
void gather(const Stored* from, const Strides& stride, int64_t num_classes, int64_t samples, int64_t tile, Real* to) {
  for (int64_t c = 0; c < num_classes; ++c, from += stride.classes, to += tile) {
    int64_t k = 0;
    if (stride.inner == 1)
      for (; k + kLanes<Real> <= samples; k += kLanes<Real>) store(to + k, load(from + k));
    for (; k < samples; ++k) to[k] = load_one(from + k * stride.inner);
    for (; k < tile; ++k) to[k] = 0;
  }
}

template <class Stored, class Real>
void scatter(const Real* from, const Strides& stride, int64_t num_classes, int64_t samples, int64_t tile, Stored* to) {
  for (int64_t c = 0; c < num_classes; ++c, to += stride.classes, from += tile) {
    int64_t k = 0;
    if (stride.inner == 1)
      for (; k + kLanes<Real> <= samples; k += kLanes<Real>) store(to + k, load(from + k));
    for (; k < samples; ++k) store_one(to + k * stride.inner, from[k]);
  }
}

// One vector of samples: logits f[c * tile + lane], which the gradient replaces.
template <class Real>
struct Lanes {
  using V = Reals<Real>;

  const Arguments& arguments;
  Real* f;
  const Real* probabilities;  // as f, or null
  int64_t tile;
  Integers<Real> true_class;  // -1 for a sample that counts for nothing, if there are no probabilities
  Integers<Real> is_kept;

  V total{}, base{}, wrong_exps{}, true_exp{}, mass{};

  V loss() {
    const int64_t num_classes = arguments.classes;
    const bool has_entropy = arguments.cross_entropy != 0.0;
    total = masses();
    V top = all(static_cast<Real>(-INFINITY));
    for (int64_t c = 0; c < num_classes; ++c) {
      const V v = load(f + c * tile);
      top = v > top ? v : top;
    }
    base = top == static_cast<Real>(-INFINITY) ? V{} : top;

    const Real wrong_square = static_cast<Real>(arguments.wrong_square);
    const Real true_square = static_cast<Real>(arguments.true_square), M = static_cast<Real>(arguments.M);
    V below{}, squares{};
    for (int64_t start = 0; start < num_classes; start += kClassBlock) {  // sums of sums round less
      const int64_t end = start + kClassBlock < num_classes ? start + kClassBlock : num_classes;
      V block_wrong{}, block_mass{}, block_below{}, block_squares{};
      for (int64_t c = start; c < end; ++c) {
        const V v = load(f + c * tile), u = mass_at(c);
        if (has_entropy) {
          const V e = exp(v - base);
          block_wrong += is_true(c) ? V{} : e;
          true_exp = is_true(c) ? e : true_exp;
          block_mass += u;
          block_below += product(u, base - v);
        }
        block_squares += product(wrong_square * (total - u), v * v);
        if (true_square != 0) block_squares += product(true_square * u, (v - M) * (v - M));
      }
      wrong_exps += block_wrong;
      mass += block_mass;
      below += block_below;
      squares += block_squares;
    }
    V loss = squares;
    if (has_entropy) {
      // true_exp is 1 if the true logit is the largest: a loss near 0 then keeps all its digits
      const V log_exps = log1p<Real>(wrong_exps + (true_exp - 1));
      loss += static_cast<Real>(arguments.cross_entropy) * (mass * log_exps + below);
    }
    return is_kept ? loss : V{};
  }

  void write_gradient(V scale) {
    const bool has_entropy = arguments.cross_entropy != 0.0;
    const V entropy = scale * static_cast<Real>(arguments.cross_entropy);
    const V probability = entropy * mass / (wrong_exps + true_exp);
    const V wrong_square = scale * static_cast<Real>(2.0 * arguments.wrong_square);
    const V true_square = scale * static_cast<Real>(2.0 * arguments.true_square);
    const Real M = static_cast<Real>(arguments.M);
    const bool has_true_square = arguments.true_square != 0.0;
    const bool is_indexed = !is_spread();
    for (int64_t c = 0; c < arguments.classes; ++c) {
      const V v = load(f + c * tile), u = mass_at(c);
      V slope = product(wrong_square * (total - u), v);
      if (has_entropy) {
        V part = probability * exp(v - base) - entropy * u;
        if (is_indexed) part = is_true(c) ? -probability * wrong_exps : part;  // p - 1 without the rounding of p
        slope += part;
      }
      if (has_true_square) slope += product(true_square * u, v - M);
      store(f + c * tile, is_kept ? slope : V{});
    }
  }

 private:
  static constexpr int64_t kClassBlock = 64;

  static INLINE V product(V factor, V value) { return factor == 0 ? V{} : factor * value; }

  INLINE bool is_spread() const { return probabilities || arguments.label_smoothing != 0.0; }

  INLINE Integers<Real> is_true(int64_t c) const { return true_class == static_cast<typename Integer<Real>::Type>(c); }

  INLINE V mass_at(int64_t c) const {
    V u = probabilities ? load(probabilities + c * tile) : (is_true(c) ? all(Real{1}) : V{});
    if (arguments.label_smoothing != 0.0)
      u = u * static_cast<Real>(1.0 - arguments.label_smoothing) +
          static_cast<Real>(arguments.label_smoothing / arguments.classes);
    if (arguments.weight) u *= reinterpret_cast<const Real*>(arguments.weight)[c];
    return u;
  }

  // Without class weights the probabilities are taken to sum to 1, as in the formula.
  V masses() const {
    if (!arguments.weight) return all(Real{1});
    V sum{};
    for (int64_t c = 0; c < arguments.classes; ++c) sum += mass_at(c);
    return sum;
  }
};

}  // namespace
}  // namespace squentropy
