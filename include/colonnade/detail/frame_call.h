// Functions over column values as kernels: the argument and result types come from the function's signature,
// and its body becomes part of the loop over the block. Part of colonnade/dataframe.h.
#ifndef COLONNADE_DETAIL_FRAME_CALL_H
#define COLONNADE_DETAIL_FRAME_CALL_H

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "colonnade/block.h"
#include "colonnade/detail/frame_cell.h"
#include "colonnade/detail/frame_graph.h"

namespace colonnade::detail {

// ---- Signatures

template <class R, class... A>
struct SignatureOf {
  static_assert(((!std::is_lvalue_reference_v<A> || std::is_const_v<std::remove_reference_t<A>>) && ...),
                "colonnade: values of columns cannot be changed; take them by value or const reference");
  using Result = std::remove_cvref_t<R>;
  using Arguments = Types<std::remove_cvref_t<A>...>;
  static constexpr std::size_t arity = sizeof...(A);
};

template <class M>
struct SignatureOfMember {
  static_assert(always_false<M>,
                "colonnade: a function over columns must be callable from several threads: no mutable "
                "lambdas");
};
template <class C, class R, class... A>
struct SignatureOfMember<R (C::*)(A...) const> : SignatureOf<R, A...> {};
template <class C, class R, class... A>
struct SignatureOfMember<R (C::*)(A...) const noexcept> : SignatureOf<R, A...> {};

template <class F>
struct Signature {
  static_assert(always_false<F>,
                "colonnade: the types of the arguments must be known: a function, or a class with one "
                "operator() that is not a template (no auto parameters)");
};
template <class F>
  requires requires { &F::operator(); }
struct Signature<F> : SignatureOfMember<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> : SignatureOf<R, A...> {};
template <class R, class... A>
struct Signature<R (*)(A...) noexcept> : SignatureOf<R, A...> {};

// Everything that is not a string is taken for a function.
template <class F>
concept FrameFunction = !std::convertible_to<F, std::string_view>;

template <class... T>
std::vector<ValueType> types_of(Types<T...>) {
  return {Cell<T>::type()...};
}

// ---- Arguments

// The arguments of a block, ready to be read row by row.
template <class... A>
class CallArguments {
 public:
  CallArguments(const CallContext& context, std::span<const ValuesPtr> arguments,
                std::span<const KernelPtr> conversions)
      : CallArguments(context, arguments, conversions, std::index_sequence_for<A...>()) {}

  template <class F>
  decltype(auto) call(const F& function, std::size_t row) {
    return std::apply([&](auto&... reader) -> decltype(auto) { return function(reader.get(row)...); },
                      readers_);
  }
  // With a first argument that is not a column.
  template <class F, class First>
  decltype(auto) call_with(const F& function, First& first, std::size_t row) {
    return std::apply([&](auto&... reader) -> decltype(auto) { return function(first, reader.get(row)...); },
                      readers_);
  }

 private:
  template <std::size_t... I>
  CallArguments(const CallContext& context, [[maybe_unused]] std::span<const ValuesPtr> arguments,
                [[maybe_unused]] std::span<const KernelPtr> conversions, std::index_sequence<I...>)
      : kept_{prepare_argument(context, arguments[I], conversions[I].get())...},
        readers_(typename Cell<A>::Reader(*kept_[I])...) {}

  std::array<ValuesPtr, sizeof...(A)> kept_;
  std::tuple<typename Cell<A>::Reader...> readers_;
};

// ---- Kernels

template <class F, class R, class Arguments>
class CallKernel;

template <class F, class R, class... A>
class CallKernel<F, R, Types<A...>> final : public Kernel {
 public:
  CallKernel(F function, std::vector<KernelPtr> conversions)
      : function_(std::move(function)), conversions_(std::move(conversions)), result_(Cell<R>::type()) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const std::size_t size = context.rows.size;
    CallArguments<A...> readers(context, arguments, conversions_);
    if constexpr (PlainCell<R>) {
      auto [out, owner] = context.memory.template array<R>(size);
      R* const data = out;
      for (std::size_t row = 0; row < size; ++row) data[row] = readers.call(function_, row);
      return make_scalars(element_of<R>(), size, data, std::move(owner));
    } else {
      typename Cell<R>::Writer writer(context.memory, size);
      for (std::size_t row = 0; row < size; ++row) writer.push(readers.call(function_, row));
      return writer.finish();
    }
  }
  const ValueType& result() const noexcept override { return result_; }
  // A user function may throw, be expensive, or have side effects: it runs only for the rows that reach it.
  bool only_where_needed() const noexcept override { return true; }
  bool foldable() const noexcept override { return false; }

 private:
  F function_;
  std::vector<KernelPtr> conversions_;
  ValueType result_;
};

// Called once per sample, for the first of its rows.
template <class F, class R>
class SampleKernel final : public Kernel {
 public:
  SampleKernel(F function, std::vector<SampleInfo> samples)
      : function_(std::move(function)), samples_(std::move(samples)), values_(samples_.size()) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> /*arguments*/) const override {
    const std::lock_guard lock(mutex_);
    ValuesPtr& value = values_.at(context.sample);
    if (value == nullptr) {
      typename Cell<R>::Writer writer(memory_, 1);
      writer.push(call(context));
      value = writer.finish();
    }
    return repeat_element(value, context.rows.size);
  }
  const ValueType& result() const noexcept override { return result_; }
  bool only_where_needed() const noexcept override { return true; }
  bool foldable() const noexcept override { return false; }

 private:
  R call(const CallContext& context) const {
    const SampleInfo& sample = samples_[context.sample];
    if constexpr (std::is_invocable_v<const F&, const SampleInfo&>) {
      return function_(sample);
    } else {
      return function_(context.slot, sample);
    }
  }
  F function_;
  std::vector<SampleInfo> samples_;
  ValueType result_ = Cell<R>::type();
  mutable std::mutex mutex_;
  mutable BlockMemory memory_;
  mutable std::vector<ValuesPtr> values_;
};

// ---- Definitions

template <class F>
FrameDefinition definition_of(F function, std::vector<std::string> columns) {
  using Of = Signature<F>;
  static_assert(!std::is_void_v<typename Of::Result>, "colonnade: the function must return a value");
  const auto make = [function = std::move(function), columns](std::span<const ValueType> types) -> KernelPtr {
    if (types.size() != Of::arity) throw_wrong_arity(Of::arity, types.size());
    auto conversions = argument_conversions(columns, types, types_of(typename Of::Arguments()));
    return std::make_shared<CallKernel<F, typename Of::Result, typename Of::Arguments>>(
        function, std::move(conversions));
  };
  return {{}, make, std::move(columns)};
}

template <class F>
FrameDefinition sample_definition(F function, std::vector<SampleInfo> samples) {
  static_assert(
      std::is_invocable_v<const F&, const SampleInfo&> ||
          std::is_invocable_v<const F&, unsigned, const SampleInfo&>,
      "colonnade: define_per_sample needs a function of (const SampleInfo&) or (unsigned slot, const "
      "SampleInfo&)");
  using R = std::remove_cvref_t<typename Signature<F>::Result>;
  const auto make = [function = std::move(function),
                     samples = std::move(samples)](std::span<const ValueType>) -> KernelPtr {
    return std::make_shared<SampleKernel<F, R>>(function, samples);
  };
  return {{}, make, {}};
}

}  // namespace colonnade::detail

#endif
