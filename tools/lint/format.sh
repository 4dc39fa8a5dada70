#!/usr/bin/env bash
# Checks the format of every .h and .cpp under src/ and tests/; with --fix, rewrites them.
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=(--dry-run -Werror)
[ "${1:-}" != --fix ] || mode=(-i)
find src tests \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 -r clang-format --style=file "${mode[@]}"
