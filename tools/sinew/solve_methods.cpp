#include "solve.h"

namespace sinew::tool {

std::vector<Method> solve_methods() {
  return {ssdr_method(), kavan_method(), sma_method(), flats_method(), skeleton_method(), clusters_method()};
}

}  // namespace sinew::tool
