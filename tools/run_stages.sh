#!/bin/sh
# run_stages.sh STAGE...: runs `make STAGE` one after the other, prints the time of each, stops at the first failure
# and ends with one line that says how many passed. MAKE names the make to use.
set -u
passed=0
summary=
started=$(date +%s)
for stage in "$@"; do
  echo "==> $stage"
  before=$(date +%s)
  if ! "${MAKE:-make}" --no-print-directory "$stage"; then
    echo "FAILED: stage '$stage' after $(($(date +%s) - before)) s; run 'make $stage' to repeat it alone" >&2
    echo "$passed stages passed, 1 failed"
    exit 1
  fi
  passed=$((passed + 1))
  summary="$summary
  $(printf '%-12s %5d s' "$stage" $(($(date +%s) - before)))"
done
echo "==> times$summary"
echo "$passed stages passed, 0 failed, $(($(date +%s) - started)) s"
