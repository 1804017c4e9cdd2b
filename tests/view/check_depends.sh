#!/usr/bin/env bash
# Whether a make-style dependency file names every file of some folders.
#   check_depends.sh DEPENDENCY_FILE FOLDER...
set -euo pipefail
[ -f "$1" ] || { echo "skipped: no page is bundled here"; exit 77; }
list=$1
shift
for folder in "$@"; do
  for file in "$folder"/*; do
    grep -qF -- "$file" "$list" || { echo "$list does not name $file" >&2; exit 1; }
  done
done
