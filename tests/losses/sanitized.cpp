// The kernels alone, for a build with AddressSanitizer and UBSan: every buffer is exactly as long as it is said to be.
// Compares with sums in double precision, one class at a time. Prints the number of configurations that were right.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "variant.h"

using namespace squentropy;

extern "C" int64_t squentropy_run(const Arguments*);
extern "C" int64_t squentropy_best_variant();

namespace {

struct Shape {
  int64_t outer, classes, inner;
};

std::mt19937 engine(0);
double normal() { return std::normal_distribution<double>(0.0, 3.0)(engine); }

// One number of a dtype, and back; halves by way of their bits.
void put(int64_t dtype, char* to, int64_t place, double value) {
  if (dtype == kFloat64) return void(std::memcpy(to + 8 * place, &value, 8));
  const float single = static_cast<float>(value);
  if (dtype == kFloat32) return void(std::memcpy(to + 4 * place, &single, 4));
  uint16_t half;
  if (dtype == kBFloat16) {
    uint32_t bits;
    std::memcpy(&bits, &single, 4);
    half = static_cast<uint16_t>(bits >> 16);
  } else {  // numbers of few bits, so that nothing is rounded
    int exponent;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    half = value == 0.0 ? 0 : static_cast<uint16_t>((exponent + 14) << 10 | (static_cast<int>(fraction * 2048) & 0x3ff));
    if (value < 0.0) half |= 0x8000;
  }
  std::memcpy(to + 2 * place, &half, 2);
}

double get(int64_t dtype, const char* from, int64_t place) {
  double value;
  float single;
  uint16_t half;
  if (dtype == kFloat64) return std::memcpy(&value, from + 8 * place, 8), value;
  if (dtype == kFloat32) return std::memcpy(&single, from + 4 * place, 4), single;
  std::memcpy(&half, from + 2 * place, 2);
  if (dtype == kBFloat16) {
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    return std::memcpy(&single, &bits, 4), single;
  }
  const int exponent = half >> 10 & 31, mantissa = half & 0x3ff;
  const double size = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
  return half & 0x8000 ? -size : size;
}

void fail(const char* what, double ours, double theirs) {
  std::fprintf(stderr, "%s: %.17g instead of %.17g\n", what, ours, theirs);
  std::exit(1);
}

void check(int64_t variant, int64_t dtype, Shape shape, bool is_soft, bool has_weight, double smoothing, bool in_place) {
  const int64_t bytes[] = {4, 8, 2, 2}, computed = dtype == kFloat64 ? kFloat64 : kFloat32;
  const int64_t samples = shape.outer * shape.inner, size = samples * shape.classes;
  std::vector<char> logits(size * bytes[dtype]), gradient(size * bytes[dtype]), weight(shape.classes * bytes[computed]);
  std::vector<char> soft(is_soft ? size * bytes[computed] : 0), losses(samples * bytes[computed]);
  std::vector<int64_t> target(is_soft ? 0 : samples);
  for (int64_t i = 0; i < size; ++i) put(dtype, logits.data(), i, std::round(normal() * 4) / 4);
  for (int64_t i = 0; is_soft && i < size; ++i) put(computed, soft.data(), i, 1.0 / shape.classes);
  for (int64_t c = 0; c < shape.classes; ++c) put(computed, weight.data(), c, 0.5 + c % 3);
  for (auto& each : target) each = engine() % 4 == 0 ? -100 : static_cast<int64_t>(engine() % shape.classes);
  const std::vector<char> before = logits;

  const Strides strides{shape.classes * shape.inner, shape.inner, 1};
  Arguments arguments{};
  arguments.logits = logits.data();
  arguments.gradient = in_place ? logits.data() : gradient.data();
  arguments.target = is_soft ? soft.data() : reinterpret_cast<const char*>(target.data());
  arguments.weight = has_weight ? weight.data() : nullptr;
  arguments.losses = losses.data();
  arguments.dtype = dtype, arguments.value_dtype = computed, arguments.is_soft = is_soft, arguments.variant = variant;
  arguments.threads = 3, arguments.outer = shape.outer, arguments.classes = shape.classes, arguments.inner = shape.inner;
  arguments.logits_stride = arguments.gradient_stride = arguments.target_stride = strides;
  arguments.ignore_index = -100, arguments.label_smoothing = smoothing;
  arguments.cross_entropy = 1.0, arguments.wrong_square = 0.5, arguments.true_square = 0.25, arguments.M = 2.0;
  arguments.scale = 1.0;
  if (squentropy_run(&arguments) != kDone) fail("status", 1, 0);

  const char* written = in_place ? logits.data() : gradient.data();
  const double rounding[] = {1e-3, 1e-11, 0.05, 0.01};
  for (int64_t outer = 0; outer < shape.outer; ++outer)
    for (int64_t inner = 0; inner < shape.inner; ++inner) {
      const auto place = [&](int64_t c) { return (outer * shape.classes + c) * shape.inner + inner; };
      const int64_t sample = outer * shape.inner + inner;
      const bool is_kept = is_soft || target[sample] != -100;
      double top = -1e300, exps = 0.0, total = 0.0, loss = 0.0;
      std::vector<double> f(shape.classes), u(shape.classes);
      for (int64_t c = 0; c < shape.classes; ++c) {
        f[c] = get(dtype, before.data(), place(c));
        top = std::max(top, f[c]);
        double q = is_soft ? get(computed, soft.data(), place(c)) : c == target[sample];
        q = q * (1 - smoothing) + smoothing / shape.classes;
        total += u[c] = is_kept ? q * (has_weight ? get(computed, weight.data(), c) : 1.0) : 0.0;
      }
      for (double each : f) exps += std::exp(each - top);
      for (int64_t c = 0; c < shape.classes; ++c) {
        const double p = std::exp(f[c] - top) / exps;
        loss += u[c] * (top + std::log(exps) - f[c]) + 0.5 * (total - u[c]) * f[c] * f[c] + 0.25 * u[c] * (f[c] - 2) * (f[c] - 2);
        const double slope = p * total - u[c] + (total - u[c]) * f[c] + 0.5 * u[c] * (f[c] - 2);
        const double ours = get(dtype, written, place(c));
        if (!(std::fabs(ours - slope) <= rounding[dtype] * (1 + std::fabs(slope)))) fail("gradient", ours, slope);
      }
      const double ours = get(computed, losses.data(), sample);
      if (!(std::fabs(ours - loss) <= rounding[computed] * (1 + std::fabs(loss)))) fail("loss", ours, loss);
    }
}

}  // namespace

int main() {
  const Shape shapes[] = {{1, 2, 1},   {1, 3, 17},  {1, 15, 5},   {1, 31, 7},    {1, 32, 9},   {1, 33, 9},
                          {1, 100, 5}, {5, 64, 1},  {1, 257, 40}, {1, 1000, 90}, {1, 9001, 2}, {2, 3, 200},
                          {3, 21, 65}, {2, 500, 33}, {1, 2, 5000}};
  int count = 0;
  for (int64_t variant = 0; variant <= squentropy_best_variant(); ++variant)
    for (int64_t dtype = 0; dtype < 4; ++dtype)
      for (const Shape& shape : shapes)
        for (int options = 0; options < 16; ++options) {
          Shape rows = shape;
          if (options & 8) std::swap(rows.outer, rows.inner);  // classes adjacent, or far apart
          check(variant, dtype, rows, options & 1, options & 2, options & 4 ? 0.1 : 0.0, count % 2);
          ++count;
        }
  std::printf("%d configurations\n", count);
}
