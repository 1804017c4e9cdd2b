#!/usr/bin/env bash
# Whether a make-style dependency file names every file of a folder.
#   check_depends.sh DEPENDENCY_FILE FOLDER
set -euo pipefail
[ -f "$1" ] || { echo "skipped: no page is bundled here"; exit 77; }
for file in "$2"/*; do
  grep -qF -- "$file" "$1" || { echo "$1 does not name $file" >&2; exit 1; }
done
