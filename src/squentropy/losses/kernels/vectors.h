// Vectors of the width that a variant is compiled for: loads that widen, stores that round, exp and log1p.
//
// Written with the vector extensions of GCC and Clang. A variant lives in an anonymous namespace and uses no template of
// the standard library, lest the linker merge code for a newer processor into what an older one runs.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#ifndef VECTOR_BYTES
#define VECTOR_BYTES 16
#endif
#define INLINE inline __attribute__((always_inline))
#define LAMBDA __attribute__((always_inline))

namespace squentropy {
namespace {

template <class Real>
struct Integer;
template <>
struct Integer<float> {
  using Type = int32_t;
};
template <>
struct Integer<double> {
  using Type = int64_t;
};

template <class Real>
struct Vectors {
  static constexpr int lanes = VECTOR_BYTES / sizeof(Real);
  typedef Real Reals __attribute__((vector_size(VECTOR_BYTES)));
  typedef typename Integer<Real>::Type Integers __attribute__((vector_size(VECTOR_BYTES)));
  typedef Real HalfOfReals __attribute__((vector_size(VECTOR_BYTES / 2)));
  typedef uint16_t Halves __attribute__((vector_size(VECTOR_BYTES / 2)));
};
template <class Real>
using Reals = typename Vectors<Real>::Reals;
template <class Real>
using Integers = typename Vectors<Real>::Integers;
template <class Real>
constexpr int kLanes = Vectors<Real>::lanes;

using Bits = Integers<float>;

template <class To, class From>
INLINE To bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "bits are neither gained nor lost");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

template <class Real>
INLINE Reals<Real> all(Real value) {
  return value - Reals<Real>{};
}

template <class Real>
INLINE Integers<Real> lane_numbers() {
  Integers<Real> numbers;
  for (int i = 0; i < kLanes<Real>; ++i) numbers[i] = i;
  return numbers;
}

template <class Real>
INLINE Real largest(Reals<Real> v) {
#if defined(__clang__)
  for (int i = 1; i < kLanes<Real>; ++i) v[0] = v[i] > v[0] ? v[i] : v[0];
#else
  for (int n = kLanes<Real> / 2; n > 0; n /= 2) {
    const Reals<Real> swapped = __builtin_shuffle(v, lane_numbers<Real>() ^ n);
    v = swapped > v ? swapped : v;
  }
#endif
  return v[0];
}

// The sum of a vector's numbers, in double precision from the first addition on.
INLINE double sum(Reals<double> v) {
#if defined(__clang__)
  for (int i = 1; i < kLanes<double>; ++i) v[0] += v[i];
#else
  for (int n = kLanes<double> / 2; n > 0; n /= 2) v += __builtin_shuffle(v, lane_numbers<double>() ^ n);
#endif
  return v[0];
}

INLINE double sum(Reals<float> v) {
  Vectors<float>::HalfOfReals halves[2];
  std::memcpy(halves, &v, sizeof(v));
  return sum(__builtin_convertvector(halves[0], Reals<double>) + __builtin_convertvector(halves[1], Reals<double>));
}

// The two half precisions, computed in float. What is stored is rounded to the nearest, to even in the middle.
struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

INLINE Reals<float> widened(BFloat16, Bits half) { return bits<Reals<float>>(half << 16); }

INLINE Reals<float> widened(Float16, Bits half) {
  const Bits magnitude = half & 0x7fff;
  const Reals<float> scaled = bits<Reals<float>>(magnitude << 13) * 0x1p112f;  // the exponents' biases differ by 112
  const Bits finite = bits<Bits>(scaled);
  return bits<Reals<float>>((magnitude < 0x7c00 ? finite : finite | 0x7f800000) | ((half & 0x8000) << 16));
}

INLINE Bits rounded(BFloat16, Reals<float> value) {
  const Bits all_bits = bits<Bits>(value);
  const Bits nearest = (all_bits + 0x7fff + ((all_bits >> 16) & 1)) >> 16;
  return value == value ? nearest : nearest - nearest + 0x7fc0;
}

INLINE Bits rounded(Float16, Reals<float> value) {
  const Bits sign = bits<Bits>(value) & INT32_MIN;
  const Bits magnitude = bits<Bits>(value) ^ sign;
  const Bits normal = (magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  const Bits subnormal = bits<Bits>(bits<Reals<float>>(magnitude) + 0.5f) - 0x3f000000;  // the addition rounds
  Bits half = magnitude < (113 << 23) ? subnormal : normal;
  half = magnitude < 0x477ff000 ? half : half - half + 0x7c00;
  half = magnitude > 0x7f800000 ? half - half + 0x7e00 : half;
  return half | ((sign >> 16) & 0x8000);
}

template <class Real>
INLINE Reals<Real> load(const Real* from) {
  Reals<Real> v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

template <class Real>
INLINE void store(Real* to, Reals<Real> v) {
  std::memcpy(to, &v, sizeof(v));
}

template <class Half>
INLINE Reals<float> load_half(const Half* from) {
  Vectors<float>::Halves halves;
  std::memcpy(&halves, from, sizeof(halves));
  return widened(Half{}, __builtin_convertvector(halves, Bits));
}
INLINE Reals<float> load(const BFloat16* from) { return load_half(from); }
INLINE Reals<float> load(const Float16* from) { return load_half(from); }

template <class Half>
INLINE void store_half(Half* to, Reals<float> v) {
  const auto halves = __builtin_convertvector(rounded(Half{}, v), Vectors<float>::Halves);
  std::memcpy(to, &halves, sizeof(halves));
}
INLINE void store(BFloat16* to, Reals<float> v) { store_half(to, v); }
INLINE void store(Float16* to, Reals<float> v) { store_half(to, v); }

INLINE float load_one(const float* from) { return *from; }
INLINE double load_one(const double* from) { return *from; }
template <class Half>
INLINE float load_one(const Half* from) {
  return widened(Half{}, Bits{from->bits})[0];
}

INLINE void store_one(float* to, double value) { *to = static_cast<float>(value); }
INLINE void store_one(double* to, double value) { *to = value; }
template <class Half>
INLINE void store_one(Half* to, double value) {
  to->bits = static_cast<uint16_t>(rounded(Half{}, all(static_cast<float>(value)))[0]);
}

// p 2^n, where n is an integer, and the last bits of `shifted`.
INLINE Reals<float> times_power(Reals<float> p, Reals<float> shifted, Reals<float> n) {
#if defined(__AVX512F__)
  return _mm512_scalef_ps(p, n);
#else
  return p * bits<Reals<float>>((bits<Bits>(shifted) << 23) + (127 << 23));
#endif
}

// exp(x) for x <= 0, within one unit in the last place; 0 where the result would be subnormal; NaN stays NaN. What comes of
// an x below the lowest is meaningless until the last line replaces it.
INLINE Reals<float> exp(Reals<float> x) {
  const float lowest = -87.33654f;
  const Reals<float> shifted = x * 0x1.715476p0f + 0x1.8p23f;  // its last bits are the integer nearest to x / ln 2
  const Reals<float> n = shifted - 0x1.8p23f;
  const Reals<float> r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  Reals<float> p = r * 0.00138146132608f + 0.00836870982417f;  // the minimax polynomial of (exp(r) - 1 - r) / r^2
  p = p * r + 0.0416683873613f;
  p = p * r + 0.166665206898f;
  p = p * r + 0.499999934517f;
  p = p * (r * r) + r + 1.0f;
  return x < lowest ? Reals<float>{} : times_power(p, shifted, n);
}

INLINE Reals<double> exp(Reals<double> x) {
  const double lowest = -708.3964185322641;
  const Reals<double> shifted = x * 0x1.71547652b82fep0 + 0x1.8p52;
  const Reals<double> n = shifted - 0x1.8p52;
  const Reals<double> r = (x - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
  Reals<double> p = all(1.0 / 6227020800.0);  // Taylor's series ends with r^13 / 13!: the next term is below 1e-17
  const double factors[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                            1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2};
  for (const double factor : factors) p = p * r + factor;
  p = p * (r * r) + r + 1.0;
  const Reals<double> power = bits<Reals<double>>((bits<Integers<double>>(shifted) << 52) + (int64_t{1023} << 52));
  return x < lowest ? Reals<double>{} : p * power;
}

template <class Real>
struct Format;
template <>
struct Format<float> {
  static constexpr int mantissa = 23, terms = 6;
};
template <>
struct Format<double> {
  static constexpr int mantissa = 52, terms = 12;
};

// log(1 + z) for z >= 0, within a few units in the last place: 2^k m = 1 + z with m in [sqrt(1/2), sqrt(2)), and
// log m = 2 atanh((m - 1) / (m + 1)) by its series.
template <class Real>
INLINE Reals<Real> log1p(Reals<Real> z) {
  using Format = squentropy::Format<Real>;
  using Int = typename Integer<Real>::Type;
  const Int root_half = bits<Int>(static_cast<Real>(0.70710678118654752));
  const Reals<Real> u = 1 + z;
  const Integers<Real> k = (bits<Integers<Real>>(u) - root_half) >> Format::mantissa;
  const Reals<Real> m = bits<Reals<Real>>(bits<Integers<Real>>(u) - (k << Format::mantissa));
  const Reals<Real> s = (m - 1) / (m + 1);
  const Reals<Real> square = s * s;
  Reals<Real> series{};
  for (int n = Format::terms; n > 0; --n) series = (series + Real{1} / (2 * n + 1)) * square;
  const Reals<Real> lost = (z - (u - 1)) / u;  // what the rounding of 1 + z took away
  const Reals<Real> exponent = __builtin_convertvector(k, Reals<Real>);
  const Reals<Real> log_m = 2 * s + (2 * s * series + lost);
  return exponent * static_cast<Real>(0.69314718055994531) + log_m + (z - z);
}

}  // namespace
}  // namespace squentropy
