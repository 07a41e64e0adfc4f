#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
#
# Run the core's tests as if no room were installed: boards, umpire, emulated Pico, SLOTH,
# cluster. Which modules are theirs is in pyproject.toml, in the contracts called "room".
#
#   scripts/core-tests.sh [TESTS...]    the quick ones of tests/, or of what is named
#
# Tests that need a room are skipped: the last lines count them.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -x .venv/bin/pytest ]] || {
    echo "core-tests: .venv has no pytest; run scripts/setup.sh --unit" >&2
    exit 1
}
PYTHONPATH=$PWD/tests/support/without_rooms exec .venv/bin/pytest -q -p no:cacheprovider \
    -p tests.support.without_rooms.plugin -m "not virtual and not more and not slow and not provision and not release" "$@"
