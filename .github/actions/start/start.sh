#!/usr/bin/env bash
# Start the node that install.sh has installed in the background, wait until it is ready, and say where it listens.
set -euo pipefail

folder="$RUNNER_TEMP/entresol"
python="$folder/venv/bin/python"
info="$folder/node.json"
log="$folder/node.log"
pid_file="$folder/node.pid"

fail() {
    echo "::group::Log of the node"
    tail -n 1000 "$log" || true
    echo "::endgroup::"
    echo "::error title=Entresol::$1"
    exit 1
}

if ! [[ "$TIMEOUT" =~ ^[0-9]{1,4}$ ]]; then
    echo "::error title=Entresol::timeout: '$TIMEOUT' is not a number of seconds"
    exit 1
fi

if [[ -f "$pid_file" ]] && kill -0 "$(<"$pid_file")" 2>/dev/null; then
    echo "::error title=Entresol::a node of this job runs already: stop it first, by the action .github/actions/stop"
    exit 1
fi

# Quotes work as in a shell, and nothing is expanded.
split='
import shlex, sys
try:
    words = shlex.split(sys.argv[1])
except ValueError:
    sys.exit("::error title=Entresol::flags: a quote is not closed")
print(*words, sep="\0", end="\0" if words else "")
'
"$python" -c "$split" "$FLAGS" >"$folder/flags"
arguments=()
while IFS= read -r -d '' flag; do # bash 3.2, which macOS has, has no mapfile.
    arguments+=("$flag")
done <"$folder/flags"

rm -f "$info"
umask 077 # The file has the keys of the development accounts.
nohup "$folder/venv/bin/entresol" --port "$PORT" --l1-port "$L1_PORT" --config-out "$info" \
    ${arguments[@]+"${arguments[@]}"} >"$log" 2>&1 </dev/null &
pid=$!
echo "$pid" >"$pid_file"

# The file is there once everything listens, and /health says whether it works.
ready='
import json, sys, urllib.request
with open(sys.argv[1]) as file:
    known = json.load(file)
with urllib.request.urlopen(known["http_url"] + "/health", timeout=5) as response:
    assert response.status == 200
print(known["http_url"], (known.get("l1") or {}).get("http_url") or "")
'
deadline=$((SECONDS + TIMEOUT))
until urls="$("$python" -c "$ready" "$info" 2>/dev/null)"; do
    if ! kill -0 "$pid" 2>/dev/null; then
        code=0
        wait "$pid" || code=$?
        rm -f "$pid_file"
        fail "the node has ended with exit code $code"
    fi
    if ((SECONDS >= deadline)); then
        kill "$pid" 2>/dev/null || true
        rm -f "$pid_file"
        fail "the node was not ready within $TIMEOUT seconds"
    fi
    sleep 0.2
done
read -r l2_url l1_url <<<"$urls"

{
    echo "l2-url=$l2_url"
    echo "l1-url=$l1_url"
    echo "info=$info"
    echo "log=$log"
} >>"$GITHUB_OUTPUT"
# Not ENTRESOL_…, which are settings of a node.
{
    echo "DEVNET_L2_URL=$l2_url"
    echo "DEVNET_L1_URL=$l1_url"
    echo "DEVNET_INFO=$info"
    echo "DEVNET_LOG=$log"
} >>"$GITHUB_ENV"
echo "Layer 2: $l2_url"
echo "Layer 1: ${l1_url:-none}"
