#!/bin/sh
# Add the new files of each model (churn/predictions-*, churn/labels-*) to its store (churn.db) beside this script, and write pages and gauges.
# It prints nothing unless there is an alarm (3) or a failure (2); a file that cannot be added stays where it is.
cd "$(dirname "$0")" || exit 2
mkdir -p pages gauges
code=0
for store in *.db; do
  name=${store%.db}
  mkdir -p "$name/added"
  for file in "$name"/predictions-* "$name"/labels-*; do
    [ -e "$file" ] || continue
    case $file in */labels-*) verb=labels ;; *) verb=update ;; esac
    if output=$(calibrant monitor "$verb" "$store" "$file" --fail-on-alarm never 2>&1); then
      mv "$file" "$name/added"
    else
      echo "$file: $output"
      code=2
    fi
  done
  output=$(calibrant monitor status "$store" 2>&1)
  status=$?
  if [ "$status" -ne 0 ]; then
    echo "$store: $output"
    [ "$code" -ne 0 ] || code=$status
  fi
  calibrant monitor report "$store" --out "pages/$name.html" > /dev/null
  calibrant monitor status "$store" --prometheus --fail-on-alarm never --out "gauges/$name.prom"
done
exit "$code"
