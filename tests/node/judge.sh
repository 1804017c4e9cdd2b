#!/usr/bin/env bash
# judge.sh PROGRAM SCRIPT ARGUMENTS...: runs a check, or says that the program is not there.
[ -x "$1" ] || { echo "skipped: $1 is missing; script/bootstrap --judges --full installs it"; exit 77; }
exec "$@"
