// Compiled for any processor, unlike the rest: it says so where the rest cannot run.
#include <nanobind/nanobind.h>

namespace sinew::python {
void bind(nanobind::module_& module);
}

NB_MODULE(_core, module) {
#ifdef SINEW_NEEDS_AVX2
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
    throw nanobind::import_error("this build of sinew needs a processor with AVX2 and FMA (x86-64-v3)");
#endif
  sinew::python::bind(module);
}
