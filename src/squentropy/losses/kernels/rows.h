// Samples whose classes are adjacent in memory: vectors run along the classes.
//
// A row is read twice, in blocks that stay in the first cache: once for the loss, once for the gradient. The exponentials
// of the loss are kept for the gradient in a scratch area, if the row is one block. The last vector of a row overlaps the
// one before it instead of reaching over the row's end.
#pragma once

#include <cmath>

#include "arguments.h"
#include "vectors.h"

namespace squentropy {
namespace {

constexpr int64_t kBlock = 4096;
constexpr int64_t kLongestBlock = 2 * kBlock;

// The number to subtract from the logits: -inf, the maximum of nothing, would make NaN of -inf.
template <class Real>
INLINE Real finite(Real top) {
  return top == -INFINITY ? Real{0} : top;
}

// Calls body(i, seen) for vectors at 0, lanes, ... of n >= lanes elements; the first `seen` lanes were in the one before.
template <class Real, class Body>
INLINE void for_each_vector(int64_t n, Body body) {
  const int64_t whole = n - n % kLanes<Real>;
  for (int64_t i = 0; i < whole; i += kLanes<Real>) body(i, 0);
  if (whole < n) body(n - kLanes<Real>, whole - (n - kLanes<Real>));
}

// Calls body(start, n) for blocks of a row; the last one takes the rest, so that none is shorter than a vector.
template <class Body>
INLINE void for_each_block(int64_t num_classes, Body body) {
  for (int64_t start = 0, n; start < num_classes; start += n) {
    n = num_classes - start < kLongestBlock ? num_classes - start : kBlock;
    body(start, n);
  }
}

template <class Real, class Stored>
INLINE Real largest_of(const Stored* f, int64_t n) {
  constexpr int lanes = kLanes<Real>;
  Reals<Real> tops[4];
  for (auto& top : tops) top = all(static_cast<Real>(-INFINITY));
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (int j = 0; j < 4; ++j) {
      const Reals<Real> v = load(f + i + j * lanes);
      tops[j] = v > tops[j] ? v : tops[j];
    }
  for_each_vector<Real>(n - i < lanes ? lanes : n - i, [&](int64_t k, int) LAMBDA {
    const Reals<Real> v = load(f + n - (n - i < lanes ? lanes : n - i) + k);
    tops[0] = v > tops[0] ? v : tops[0];
  });
  for (int j = 1; j < 4; ++j) tops[0] = tops[j] > tops[0] ? tops[j] : tops[0];
  return largest<Real>(tops[0]);
}

// Writes slope(f_j, j, seen) over a row. The last vector is read before any is written, as g may be f.
template <class Real, class Stored, class Slope>
INLINE void write_row(const Stored* f, Stored* g, int64_t num_classes, Slope slope) {
  const Reals<Real> last = load(f + num_classes - kLanes<Real>);
  for_each_vector<Real>(num_classes, [&](int64_t i, int64_t seen) LAMBDA {
    store(g + i, slope(seen == 0 ? load(f + i) : last, i));
  });
}

// A sample with one true class.
template <class Stored, class Real>
struct IndexedRow {
  const Arguments& arguments;
  const Stored* f;
  int64_t true_class;
  double weight;
  Real* kept;  // exp(f_j - base), or null: they are not wanted, or the row is too long

  double true_logit = load_one(f + true_class), base = -INFINITY, wrong_exps = 0.0, squares = 0.0, true_exp = 0.0;

  double loss() {
    double top = -INFINITY;
    for_each_block(arguments.classes, [&](int64_t start, int64_t n) LAMBDA {
      if (arguments.cross_entropy != 0.0) {
        const double block_top = largest_of<Real>(f + start, n);
        if (block_top > top) {
          if (wrong_exps != 0.0) wrong_exps *= std::exp(top - block_top);
          top = block_top;
        }
        const Real base = static_cast<Real>(finite(top));
        if (kept)
          add<true, true>(f + start, n, true_class - start, base);
        else
          add<true, false>(f + start, n, true_class - start, base);
      } else {
        add<false, false>(f + start, n, true_class - start, Real{0});
      }
    });
    base = finite(top);
    double loss = 0.0;
    if (arguments.cross_entropy != 0.0) {
      true_exp = kept ? kept[true_class] : std::exp(true_logit - base);
      // true_exp is 1 if the true logit is the largest: a loss near 0 then keeps all its digits. log takes half the time.
      const double others = wrong_exps + (true_exp - 1.0);
      const double log_exps = others > 0.5 ? std::log(1.0 + others) : std::log1p(others);
      loss += arguments.cross_entropy * weight * (base - true_logit + log_exps);
    }
    if (arguments.wrong_square * weight != 0.0) loss += arguments.wrong_square * weight * squares;
    if (arguments.true_square * weight != 0.0) {
      const double missing = true_logit - arguments.M;
      loss += arguments.true_square * weight * missing * missing;
    }
    return loss;
  }

  // The softmax, which takes most of the time, without its loss: as `loss` of an earlier call has found it.
  void save(double* softmax) const {
    softmax[0] = base;
    softmax[1] = wrong_exps;
  }

  void restore(const double* softmax) {
    base = softmax[0];
    wrong_exps = softmax[1];
    true_exp = std::exp(true_logit - base);
  }

  void write_gradient(Stored* g, double scale) const {
    scale *= weight;
    const double exps = wrong_exps + true_exp;
    const Real square = static_cast<Real>(2.0 * scale * arguments.wrong_square);
    const Real real_base = static_cast<Real>(base);
    if (arguments.cross_entropy == 0.0) {
      write_row<Real>(f, g, arguments.classes, [=](Reals<Real> v, int64_t) LAMBDA { return square * v; });
    } else {
      const Real entropy = static_cast<Real>(scale * arguments.cross_entropy / exps);
      if (square == 0)
        write_row<Real>(f, g, arguments.classes,
                        [=](Reals<Real> v, int64_t) LAMBDA { return entropy * exp(v - real_base); });
      else if (kept)
        write_row<Real>(f, g, arguments.classes,
                        [=, kept = kept](Reals<Real> v, int64_t i) LAMBDA { return entropy * load(kept + i) + square * v; });
      else
        write_row<Real>(f, g, arguments.classes,
                        [=](Reals<Real> v, int64_t) LAMBDA { return entropy * exp(v - real_base) + square * v; });
    }
    double slope = 0.0;
    if (arguments.cross_entropy != 0.0) slope -= scale * arguments.cross_entropy * wrong_exps / exps;
    if (arguments.true_square != 0.0) slope += 2.0 * scale * arguments.true_square * (true_logit - arguments.M);
    store_one(g + true_class, slope);
  }

 private:
  template <bool HAS_ENTROPY, bool KEEPS>
  void add(const Stored* block, int64_t n, int64_t true_place, Real base) {
    constexpr int lanes = kLanes<Real>;
    Reals<Real> exps{}, square_sum{};
    const auto all_lanes = [&](int64_t i) LAMBDA {
      const Reals<Real> v = load(block + i);
      if (HAS_ENTROPY) {
        const Reals<Real> e = exp(v - base);
        if (KEEPS) store(kept + i, e);
        exps += e;
      }
      square_sum += v * v;
    };
    const auto wrong_lanes = [&](int64_t i, int64_t seen) LAMBDA {
      const Reals<Real> v = load(block + i);
      const int64_t place = true_place >= i && true_place < i + lanes ? true_place - i : -1;
      const Integers<Real> lane = lane_numbers<Real>();
      const auto is_counted = (lane >= static_cast<typename Integer<Real>::Type>(seen)) &
                              (lane != static_cast<typename Integer<Real>::Type>(place));
      if (HAS_ENTROPY) {
        const Reals<Real> e = exp(v - base);
        if (KEEPS) store(kept + i, e);
        exps += is_counted ? e : Reals<Real>{};
      }
      square_sum += is_counted ? v * v : Reals<Real>{};
    };
    const int64_t whole = n - n % lanes;
    const int64_t special = true_place >= 0 && true_place < whole ? true_place - true_place % lanes : whole;
    for (int64_t i = 0; i < special; i += lanes) all_lanes(i);
    if (special < whole) wrong_lanes(special, 0);
    for (int64_t i = special + lanes; i < whole; i += lanes) all_lanes(i);
    if (whole < n) wrong_lanes(n - lanes, whole - (n - lanes));
    wrong_exps += sum(exps);
    squares += sum(square_sum);
  }
};

// A sample whose mass lies on several classes: probabilities, label smoothing, or both with class weights.
template <class Stored, class Real>
struct SpreadRow {
  const Arguments& arguments;
  const Stored* f;
  const Real* probabilities;  // null: all on the true class
  int64_t true_class;

  double total = 1.0, base = 0.0, exps = 0.0, mass = 0.0, below = 0.0, squares = 0.0;

  double loss() {
    const int64_t num_classes = arguments.classes;
    // Without class weights the probabilities are taken to sum to 1, as in the formula.
    if (arguments.weight) {
      total = 0.0;
      for_each_block(num_classes, [&](int64_t start, int64_t n) {
        Reals<Real> masses{};
        for_each_vector<Real>(n, [&](int64_t i, int64_t seen) LAMBDA { masses += unseen(mass_at(start + i), seen); });
        total += sum(masses);
      });
    }
    double top = -INFINITY;
    for_each_block(num_classes, [&](int64_t start, int64_t n) {
      if (arguments.cross_entropy != 0.0) {
        const double block_top = largest_of<Real>(f + start, n);
        if (block_top > top) {
          if (exps != 0.0) exps *= std::exp(top - block_top);
          if (mass != 0.0) below += mass * (finite(block_top) - finite(top));
          top = block_top;
        }
      }
      add(start, n, static_cast<Real>(finite(top)));
    });
    base = finite(top);
    double loss = squares;
    if (arguments.cross_entropy != 0.0) loss += arguments.cross_entropy * (mass * std::log(exps) + below);
    return loss;
  }

  void write_gradient(Stored* g, double scale) const {
    const bool has_entropy = arguments.cross_entropy != 0.0;
    const Real probability = static_cast<Real>(has_entropy ? scale * arguments.cross_entropy * mass / exps : 0.0);
    const Real entropy = static_cast<Real>(scale * arguments.cross_entropy);
    const Real wrong_square = static_cast<Real>(2.0 * scale * arguments.wrong_square);
    const Real true_square = static_cast<Real>(2.0 * scale * arguments.true_square);
    const Real real_total = static_cast<Real>(total), real_base = static_cast<Real>(base);
    const Real real_M = static_cast<Real>(arguments.M);
    write_row<Real>(f, g, arguments.classes, [&](Reals<Real> v, int64_t i) LAMBDA {
      const Reals<Real> u = mass_at(i);
      Reals<Real> slope = product(wrong_square * (real_total - u), v);
      if (has_entropy) slope += probability * exp(v - real_base) - entropy * u;
      if (true_square != 0) slope += product(true_square * u, v - real_M);
      return slope;
    });
  }

 private:
  // factor * value, and 0 where the factor is 0, even if the value has overflowed
  static INLINE Reals<Real> product(Reals<Real> factor, Reals<Real> value) {
    return factor == 0 ? Reals<Real>{} : factor * value;
  }

  static INLINE Reals<Real> unseen(Reals<Real> v, int64_t seen) {
    return lane_numbers<Real>() >= static_cast<typename Integer<Real>::Type>(seen) ? v : Reals<Real>{};
  }

  INLINE Reals<Real> mass_at(int64_t i) const {
    Reals<Real> u;
    if (probabilities) {
      u = load(probabilities + i);
    } else {
      const int64_t place = true_class >= i && true_class < i + kLanes<Real> ? true_class - i : -1;
      u = lane_numbers<Real>() == static_cast<typename Integer<Real>::Type>(place) ? all(Real{1}) : Reals<Real>{};
    }
    if (arguments.label_smoothing != 0.0)
      u = u * static_cast<Real>(1.0 - arguments.label_smoothing) +
          static_cast<Real>(arguments.label_smoothing / arguments.classes);
    if (arguments.weight) u *= load(reinterpret_cast<const Real*>(arguments.weight) + i);
    return u;
  }

  void add(int64_t start, int64_t n, Real base) {
    const Real wrong_square = static_cast<Real>(arguments.wrong_square), real_total = static_cast<Real>(total);
    const Real true_square = static_cast<Real>(arguments.true_square), real_M = static_cast<Real>(arguments.M);
    Reals<Real> exp_sum{}, mass_sum{}, below_sum{}, square_sum{};
    for_each_vector<Real>(n, [&](int64_t i, int64_t seen) LAMBDA {
      const Reals<Real> v = load(f + start + i), u = unseen(mass_at(start + i), seen);
      const Reals<Real> wrong = unseen(wrong_square * (real_total - u), seen);
      if (arguments.cross_entropy != 0.0) {
        exp_sum += unseen(exp(v - base), seen);
        mass_sum += u;
        below_sum += product(u, base - v);
      }
      square_sum += product(wrong, v * v);
      if (true_square != 0) square_sum += product(true_square * u, (v - real_M) * (v - real_M));
    });
    exps += sum(exp_sum);
    mass += sum(mass_sum);
    below += sum(below_sum);
    squares += sum(square_sum);
  }
};

}  // namespace
}  // namespace squentropy
