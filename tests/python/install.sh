#!/usr/bin/env bash
# What a packager installs with CMake alone (cmake --install, component python) can be imported and solves, and nothing is
# installed but the package.
#   tests/python/install.sh PYTHON BUILD_FOLDER
set -euo pipefail
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
build=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --component python --prefix "$work/usr" >/dev/null
packages=$(cd "$work/usr" && echo lib/python3.*/site-packages)
[ "$(cd "$work/usr" && find . -type f | grep -cv "^./$packages/sinew/")" = 0 ]
for file in __init__.py _core.pyi py.typed; do [ -e "$work/usr/$packages/sinew/$file" ]; done
cd "$work"
PYTHONPATH="$work/usr/$packages" "$python" -c '
import numpy, sinew, sys
assert sinew.__file__.startswith(sys.argv[1]), sinew.__file__
frames = numpy.random.default_rng(1).random((5, 40, 3))
assert sinew.solve(frames, bones=2, quality="fast").transforms.shape == (5, 2, 3, 4)' "$work/usr"
