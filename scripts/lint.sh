#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
#
# Check the tree's style, types, tiers and licences: one line a check, details where one fails.
#
#   scripts/lint.sh [CHECK...]     ruff format types tiers shell c ansible licences; default: all
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
PATH=$PWD/.venv/bin:$PATH
# git belongs to whoever mounted this folder into a container
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$PWD

sources() { # NAME-PATTERN...: the tree's own files, null separated
    local names=() pattern
    for pattern in "$@"; do names+=(-o -name "$pattern"); done
    find . \( -name .git -o -name .venv -o -name _build -o -name '.*_cache' -o -name '*.part' \
        -o -path ./build -o -path ./demo -o -path ./ansible/inventory -o -name .ansible \) -prune -o -type f \( "${names[@]:1}" \) -print0
}

shell_scripts() {
    # the first line only: a page shows scripts, too
    sources '*' | xargs -0 awk 'FNR == 1 && /^#!.*[\/ ](ba|da|busybox )?sh$/ { printf "%s%c", FILENAME, 0 } { nextfile }'
}

check() {
    case $1 in
        ruff) ruff check --quiet . ;;
        format) ruff format --quiet --check --diff . ;;
        types) mypy --no-error-summary ;;
        tiers) lint-imports ;;
        shell) shell_scripts | xargs -0 shellcheck -- ;;
        c) sources '*.c' '*.h' | xargs -0r clang-format --dry-run -Werror -- ;;
        ansible) (cd ansible && ansible-lint --offline --nocolor --profile production -q .) ;;
        licences) reuse lint --lines ;;
        *)
            echo "no such check; the checks are: ruff format types tiers shell c ansible licences"
            return 2
            ;;
    esac
}

LINES_SHOWN=40
[[ $# != 1 ]] || LINES_SHOWN=10000 # who asks for one check wants all of it
[[ $# -gt 0 ]] || set -- ruff format types tiers shell c ansible licences
failed=0
for name in "$@"; do
    if output=$(check "$name" 2>&1); then
        printf 'lint: %-9s ok\n' "$name"
    else
        printf 'lint: %-9s FAILED\n' "$name"
        printf '%s\n' "$output" | head -n "$LINES_SHOWN"
        more=$(($(printf '%s\n' "$output" | wc -l) - LINES_SHOWN))
        [[ $more -le 0 ]] || echo "... and $more lines more: scripts/lint.sh $name"
        failed=1
    fi
done
exit "$failed"
