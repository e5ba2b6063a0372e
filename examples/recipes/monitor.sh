#!/bin/sh
# Update the models of calibrant.toml beside this script, and write pages and gauges. It prints nothing unless there is an alarm (3) or a failure.
cd "$(dirname "$0")" || exit 2
mkdir -p pages gauges
output=$(calibrant monitor run --all --json pages/fleet.json 2>&1)
code=$?
for store in *.db; do
  name=${store%.db}
  calibrant monitor report "$store" --out "pages/$name.html" > /dev/null
  calibrant monitor status "$store" --prometheus --fail-on-alarm never --out "gauges/$name.prom"
done
if [ "$code" -ne 0 ]; then
  echo "calibrant monitor run exited with $code"
  echo "$output"
fi
exit "$code"
