#pragma once
/// How a library of host-compiled kernels makes them known to the stand-in runtime: by mangled name, with a function
/// that copies the arguments of a launch. One template does it for all kernels.
#include <functional>
#include <tuple>
#include <utility>

/// The call that every thread makes, with the arguments of one launch in it.
using AttuneEmulatorCall = std::function<void()>;
using AttuneEmulatorBind = AttuneEmulatorCall (*)(void (*kernel)(), void** arguments);

/// Keeps the kernel under the mangled name that the dynamic linker knows it by. Returns false when it has none.
extern "C" bool attune_emulator_add_kernel(void (*kernel)(), AttuneEmulatorBind bind);

namespace attune::emulator {

template <class... P, std::size_t... K>
AttuneEmulatorCall bind_arguments(void (*kernel)(P...), void** arguments, std::index_sequence<K...> /*of P*/) {
  return [kernel, copies = std::tuple<std::remove_cv_t<P>...>(*static_cast<std::remove_cv_t<P>*>(arguments[K])...)] {
    std::apply(kernel, copies);
  };
}

template <class... P>
bool add_kernel(void (*kernel)(P...)) {
  return attune_emulator_add_kernel(reinterpret_cast<void (*)()>(kernel), [](void (*erased)(), void** arguments) {
    return bind_arguments(reinterpret_cast<void (*)(P...)>(erased), arguments, std::index_sequence_for<P...>{});
  });
}

/// Makes all of these known when the library is loaded: a namespace-scope `const bool`.
template <class... F>
bool add_kernels(F... kernels) {
  return (add_kernel(kernels) && ...);
}

}  // namespace attune::emulator
