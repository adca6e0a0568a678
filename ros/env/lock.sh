#!/usr/bin/env bash
# Writes requirements.txt and requirements-build.txt: every package of
# requirements.in and all that they need, each in one version with its hashes,
# for CPython 3.10 and later. Run it after a change of requirements.in.
# Needs Python with venv; the resolver comes into a temporary environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/python" -m pip install --quiet --disable-pip-version-check uv

# Usage: lock NAME [OPTION...]: NAME.txt from what stands on standard input.
lock() {
    local name=$1
    shift
    "$work/bin/uv" pip compile --quiet --no-config --universal --fork-strategy fewest \
        --python-version 3.10 --generate-hashes --no-header --no-annotate "$@" - >"$work/$name.txt"
    {
        printf '# Written by lock.sh; changes are overwritten.\n'
        cat "$work/$name.txt"
    } >"$name.txt"
}

lock requirements-build <<<'setuptools'
lock requirements --constraint "$work/requirements-build.txt" <requirements.in
