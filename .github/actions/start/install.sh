#!/usr/bin/env bash
# Install the package into an environment of its own below RUNNER_TEMP: what PACKAGE names, or else this repository.
set -euo pipefail

environment="$RUNNER_TEMP/entresol/venv"
source_folder="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)"

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "::error title=Entresol::$PYTHON is not Python 3.11 or newer: use actions/setup-python, or the input python"
    exit 1
fi
mkdir -p "$RUNNER_TEMP/entresol"
"$PYTHON" -m venv "$environment"
"$environment/bin/python" -m pip --disable-pip-version-check --quiet install "${PACKAGE:-$source_folder}"
"$environment/bin/entresol" --version
