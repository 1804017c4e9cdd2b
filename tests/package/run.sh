#!/usr/bin/env bash
# Installs the build into a temporary prefix and builds, links and runs an outside project against it; the program that
# the README shows must do as it is.
#   tests/package/run.sh BUILD_FOLDER CXX_COMPILER [LINK_FLAGS]
set -euo pipefail
build=$1
compiler=$2
flags=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
mkdir "$work/build"
sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$here/../../README.md" >"$work/build/readme.cpp"
cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="-O1 $flags" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work" && "$work/build/outside"
"$work/prefix/bin/sinew" --version
"$work/prefix/bin/sinew" convert "$work/outside.glb" -o "$work/frames.pc2" >/dev/null
mv frames.obj rest.obj
"$work/build/readme"
