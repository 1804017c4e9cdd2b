#!/usr/bin/env bash
# Compiles the CUDA sources for the oldest and the newest GPU they are meant for and links a program with them.
#   tests/cuda/compile.sh NVCC RUNTIME_LIBRARY
set -euo pipefail
nvcc=$1
runtime=$2
[ -x "$nvcc" ] || { echo "skipped: there is no nvcc"; exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/main.cpp" <<'END'
#include "sinew/cuda/sinew_cuda.h"
int main() { return sinew_cuda_skin(nullptr, nullptr, nullptr) == sinew_missing_buffer ? 0 : 1; }
END
"$nvcc" -std=c++17 -O1 -fmad=false -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 \
  -I"$root/src" -I"$root/include" "$root/src/cuda/skin.cu" "$root/src/cuda/skin_calls.cpp" "$work/main.cpp" \
  "$runtime" -lhwy -o "$work/program"
"$nvcc" -std=c++17 -O1 -arch=sm_75 -I"$root/src" -I"$root/include" -c "$root/src/solve/device/cuda_passes.cu" \
  -o "$work/passes.o"
"$work/program"
