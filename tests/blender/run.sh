#!/usr/bin/env bash
# Packs the add-on and runs its tests: in Debian's Blender, in its window (under Xvfb), or in bpy (Blender as a module).
#   tests/blender/run.sh Blender|Window|Bpy PROGRAM MODULE_FOLDER
set -euo pipefail
host=$1
program=$2
module=$3
cd "$(dirname "$0")/../.."
skip() { echo "skipped: $1 is not installed; script/bootstrap --full installs it"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work HOME=$work  # no add-on or setting of the user's own
zip=$(script/blender-addon "$work")
case $host in
  Bpy)
    [ -x build/bpy/bin/python ] || skip bpy
    build/bpy/bin/python tests/blender/test_addon.py -- "$zip" "$program" "$module"
    ;;
  Blender)
    command -v blender >/dev/null || skip blender
    blender --background --factory-startup --python-exit-code 1 --python tests/blender/test_addon.py -- \
      "$zip" "$program" "$module"
    ;;
  Window)
    command -v blender >/dev/null || skip blender
    command -v xvfb-run >/dev/null || skip xvfb
    # Rendered by the processor, as there may be no graphics card.
    LIBGL_ALWAYS_SOFTWARE=1 timeout 600 xvfb-run -a -s "-screen 0 1280x800x24" \
      blender --factory-startup --enable-event-simulate --python tests/blender/test_window.py -- \
      "$zip" "$program" "$work/said" || true
    cat "$work/said"
    [ "$(cat "$work/said")" = ok ]
    ;;
esac
