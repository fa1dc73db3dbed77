#!/usr/bin/env bash
# Stop the node of this job, if one runs, and show the end of its log if FAILED is true.
set -euo pipefail

folder="$RUNNER_TEMP/entresol"
pid_file="$folder/node.pid"

if [[ "${FAILED:-}" == true && -f "$folder/node.log" ]]; then
    echo "::group::Log of the node"
    tail -n 1000 "$folder/node.log"
    echo "::endgroup::"
fi
if [[ ! -f "$pid_file" ]]; then
    echo "no node runs"
    exit 0
fi
pid="$(<"$pid_file")"
rm -f "$pid_file"
if ! kill "$pid" 2>/dev/null; then
    echo "the node had ended before"
    exit 0
fi
# A signal lets it store what it has.
for ((tries = 0; tries < 300; tries++)); do
    if ! kill -0 "$pid" 2>/dev/null; then
        echo "the node has stopped"
        exit 0
    fi
    sleep 0.1
done
kill -9 "$pid" 2>/dev/null || true
echo "::warning title=Entresol::the node did not stop within 30 seconds, and was killed"
