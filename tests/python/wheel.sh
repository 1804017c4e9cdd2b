#!/usr/bin/env bash
# Builds a wheel as pip does, bundles its libraries, installs it into a fresh environment and solves there.
#   tests/python/wheel.sh PYTHON BUILD_FOLDER
set -euo pipefail
python=$1
build=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
export PATH="$(dirname "$python"):$PATH"
{ "$python" -c 'import auditwheel' && command -v patchelf; } >/dev/null 2>&1 ||
  { echo "skipped: auditwheel or patchelf is not there; script/bootstrap --full installs them"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m build -n -o "$work/plain" "$source/python"  # the source archive, and the wheel from it
"$python" -m auditwheel repair -w "$work/wheel" "$work"/plain/*.whl
ls -l "$work"/wheel
"$python" -m venv "$work/fresh"
"$work/fresh/bin/pip" install -q "$work"/wheel/*.whl
cat >"$work/solve.py" <<'PYTHON'
import sys
import numpy as np
import sinew
frames = np.random.default_rng(1).random((1, 60, 3)) + np.linspace(0, 1, 8)[:, None, None] * np.arange(60)[:, None]
rig = sinew.solve(frames, bones=4)
rig.save(sys.argv[1])
print(sinew.__file__, rig)
PYTHON
(cd "$work" && "$work/fresh/bin/python" solve.py "$work/wheel.glb")
(cd "$work" && PYTHONPATH="$build/python" "$python" solve.py "$work/build.glb")
cmp "$work/wheel.glb" "$work/build.glb"
