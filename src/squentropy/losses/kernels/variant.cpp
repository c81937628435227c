// The losses of a range of samples. Compiled once for each instruction set, under that name.
#include "variant.h"

#include "rows.h"
#include "tiles.h"

namespace squentropy {
namespace {

template <class Stored>
struct Computed {
  using Type = float;
};
template <>
struct Computed<double> {
  using Type = double;
};

int64_t offset(const Strides& stride, int64_t outer, int64_t inner) { return outer * stride.outer + inner * stride.inner; }

double factor_of_sample(const Work& work, int64_t sample) {
  const Arguments& arguments = work.arguments;
  if (!arguments.sample_scale) return work.gradient_scale;
  return work.gradient_scale * (arguments.dtype == kFloat64
                                    ? reinterpret_cast<const double*>(arguments.sample_scale)[sample]
                                    : reinterpret_cast<const float*>(arguments.sample_scale)[sample]);
}

void store_value(const Arguments& arguments, char* to, int64_t place, double value) {
  switch (arguments.value_dtype) {
    case kFloat32: return store_one(reinterpret_cast<float*>(to) + place, value);
    case kFloat64: return store_one(reinterpret_cast<double*>(to) + place, value);
    case kBFloat16: return store_one(reinterpret_cast<BFloat16*>(to) + place, value);
    case kFloat16: return store_one(reinterpret_cast<Float16*>(to) + place, value);
  }
}

template <class Row, class Stored>
double loss_and_gradient(Row&& row, Stored* gradient, double factor) {
  const double loss = row.loss();
  if (gradient) row.write_gradient(gradient, factor);
  return loss;
}

template <class Stored>
double loss_of_row(const Work& work, int64_t sample, int64_t outer, int64_t inner) {
  using Real = typename Computed<Stored>::Type;
  const Arguments& arguments = work.arguments;
  const auto* f = reinterpret_cast<const Stored*>(arguments.logits) + offset(arguments.logits_stride, outer, inner);
  auto* g = arguments.gradient
                ? reinterpret_cast<Stored*>(arguments.gradient) + offset(arguments.gradient_stride, outer, inner)
                : nullptr;
  const double factor = factor_of_sample(work, sample);
  if (arguments.is_soft) {
    const auto* q = reinterpret_cast<const Real*>(arguments.target) + offset(arguments.target_stride, outer, inner);
    return loss_and_gradient(SpreadRow<Stored, Real>{arguments, f, q, -1}, g, factor);
  }
  const int64_t true_class = reinterpret_cast<const int64_t*>(arguments.target)[sample];
  if (true_class == arguments.ignore_index) {
    if (g) std::memset(g, 0, arguments.classes * sizeof(Stored));
    return 0.0;
  }
  if (arguments.label_smoothing != 0.0)
    return loss_and_gradient(SpreadRow<Stored, Real>{arguments, f, nullptr, true_class}, g, factor);
  const double weight = arguments.weight ? reinterpret_cast<const Real*>(arguments.weight)[true_class] : 1.0;
  double* softmax = arguments.softmax ? arguments.softmax + 2 * sample : nullptr;
  Real scratch[kLongestBlock];
  Real* kept = g && !softmax && arguments.classes < kLongestBlock ? scratch : nullptr;
  IndexedRow<Stored, Real> row{arguments, f, true_class, weight, kept};
  if (!softmax) return loss_and_gradient(row, g, factor);
  if (g) {
    row.restore(softmax);
    row.write_gradient(g, factor);
    return 0.0;
  }
  const double loss = row.loss();
  row.save(softmax);
  return loss;
}

template <class Stored>
double losses_of_rows(const Work& work) {
  double total = 0.0;
  int64_t outer = work.first / work.arguments.inner, inner = work.first % work.arguments.inner;
  for (int64_t sample = work.first; sample < work.last; ++sample) {
    const double loss = loss_of_row<Stored>(work, sample, outer, inner);
    if (++inner == work.arguments.inner) ++outer, inner = 0;
    if (work.arguments.losses) store_value(work.arguments, work.arguments.losses, sample, loss);
    total += loss;
  }
  return total;
}

template <class Stored>
double loss_of_tile(const Work& work, int64_t outer, int64_t first, int64_t samples, int64_t tile,
                    typename Computed<Stored>::Type* scratch) {
  using Real = typename Computed<Stored>::Type;
  constexpr int lanes = kLanes<Real>;
  const Arguments& arguments = work.arguments;
  const int64_t num_classes = arguments.classes;
  const Strides &logits_stride = arguments.logits_stride, &target_stride = arguments.target_stride;
  const auto* logits = reinterpret_cast<const Stored*>(arguments.logits) + offset(logits_stride, outer, first);
  gather(logits, logits_stride, num_classes, samples, tile, scratch);
  Real* probabilities = nullptr;
  if (arguments.is_soft) {
    probabilities = scratch + num_classes * tile;
    const auto* q = reinterpret_cast<const Real*>(arguments.target) + offset(target_stride, outer, first);
    gather(q, target_stride, num_classes, samples, tile, probabilities);
  }
  double total = 0.0;
  for (int64_t k = 0; k < samples; k += lanes) {
    const int64_t sample = outer * arguments.inner + first + k;
    const int count = samples - k < lanes ? static_cast<int>(samples - k) : lanes;
    Integers<Real> true_class = Integers<Real>{} - 1, is_kept{};
    Reals<Real> factor{};
    for (int i = 0; i < count; ++i) {
      if (!arguments.is_soft) {
        const int64_t target = reinterpret_cast<const int64_t*>(arguments.target)[sample + i];
        if (target == arguments.ignore_index) continue;
        true_class[i] = static_cast<typename Integer<Real>::Type>(target);
      }
      is_kept[i] = -1;
      factor[i] = static_cast<Real>(factor_of_sample(work, sample + i));
    }
    Lanes<Real> vector{arguments, scratch + k, probabilities ? probabilities + k : nullptr, tile, true_class, is_kept};
    const Reals<Real> losses = vector.loss();
    if (arguments.gradient) vector.write_gradient(factor);
    if (arguments.losses)
      for (int i = 0; i < count; ++i) store_value(arguments, arguments.losses, sample + i, losses[i]);
    total += sum(losses);
  }
  if (arguments.gradient) {
    const Strides& stride = arguments.gradient_stride;
    scatter(scratch, stride, num_classes, samples, tile,
            reinterpret_cast<Stored*>(arguments.gradient) + offset(stride, outer, first));
  }
  return total;
}

template <class Stored>
double losses_of_tiles(const Work& work, bool* is_out_of_memory) {
  using Real = typename Computed<Stored>::Type;
  const Arguments& arguments = work.arguments;
  const int64_t tile = samples_of_tile<Real>(arguments.classes, arguments.inner);
  const int64_t tiles = (arguments.inner + tile - 1) / tile;
  auto* scratch = static_cast<Real*>(std::malloc(arguments.classes * tile * sizeof(Real) * (arguments.is_soft ? 2 : 1)));
  if (!scratch) {
    *is_out_of_memory = true;
    return 0.0;
  }
  double total = 0.0;
  for (int64_t unit = work.first; unit < work.last; ++unit) {
    const int64_t first = unit % tiles * tile;
    const int64_t samples = arguments.inner - first < tile ? arguments.inner - first : tile;
    total += loss_of_tile<Stored>(work, unit / tiles, first, samples, tile, scratch);
  }
  std::free(scratch);
  return total;
}

// Whether vectors run along the classes: they are adjacent, and there are enough to fill two vectors.
bool is_in_rows(const Arguments& arguments) {
  return arguments.logits_stride.classes == 1 && arguments.gradient_stride.classes == 1 &&
         (!arguments.is_soft || arguments.target_stride.classes == 1) && arguments.classes >= 2 * kLanes<float>;
}

template <class Stored>
double losses_of_units(const Work& work, bool* is_out_of_memory) {
  return is_in_rows(work.arguments) ? losses_of_rows<Stored>(work) : losses_of_tiles<Stored>(work, is_out_of_memory);
}

int64_t units(const Arguments& arguments) {
  if (is_in_rows(arguments)) return arguments.outer * arguments.inner;
  const int64_t tile = arguments.dtype == kFloat64 ? samples_of_tile<double>(arguments.classes, arguments.inner)
                                                   : samples_of_tile<float>(arguments.classes, arguments.inner);
  return arguments.outer * ((arguments.inner + tile - 1) / tile);
}

double losses(const Work& work, bool* is_out_of_memory) {
  switch (work.arguments.dtype) {
    case kFloat32: return losses_of_units<float>(work, is_out_of_memory);
    case kFloat64: return losses_of_units<double>(work, is_out_of_memory);
    case kBFloat16: return losses_of_units<BFloat16>(work, is_out_of_memory);
    default: return losses_of_units<Float16>(work, is_out_of_memory);
  }
}

}  // namespace

extern const Kernel VARIANT;
const Kernel VARIANT = {units, losses, store_value};

}  // namespace squentropy
