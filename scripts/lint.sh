#!/usr/bin/env bash
# Check the tree: one line a check, details if one fails.
#
#   scripts/lint.sh             what each change must pass: ruff format types
#   scripts/lint.sh all         these, and imports shell c ansible licences
#   scripts/lint.sh CHECK...    those that are named
set -uo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/here.sh"
PATH=$PWD/.venv/bin:$PATH
# git belongs to whoever mounted this folder into a container
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$PWD

of_tree() { # PATTERN...: the files of the tree, null separated; one that was deleted is still git's
    # shellcheck disable=SC2016 # for the other shell
    git ls-files -z --cached --others --exclude-standard "$@" |
        xargs -0 sh -c 'for file; do [ ! -f "$file" ] || printf "%s\0" "$file"; done' sh
}

shell_scripts() {
    # the first line only: a page shows scripts, too
    of_tree | xargs -0 awk 'FNR == 1 && /^#!.*[\/ ](ba|da|busybox )?sh$/ { printf "%s%c", FILENAME, 0 } { nextfile }'
}

check() {
    case $1 in
        ruff) ruff check --quiet . ;;
        format) ruff format --quiet --check --diff . ;;
        types) mypy --no-error-summary ;;
        imports) lint-imports ;;
        shell) shell_scripts | xargs -0 shellcheck --exclude SC1091 -- ;; # here.sh is sourced from where a script is
        c) of_tree '*.c' '*.h' | xargs -0r clang-format --dry-run -Werror -- ;;
        ansible) (cd ansible && ansible-lint --offline --nocolor --profile production -q .) ;;
        licences) reuse lint --lines ;;
        *) echo "no such check; the checks are: ruff format types imports shell c ansible licences" && return 2 ;;
    esac
}

case $* in
    "") set -- ruff format types ;;
    all) set -- ruff format types imports shell c ansible licences ;;
esac
failed=0
for name in "$@"; do
    if output=$(check "$name" 2>&1); then
        printf 'lint: %-9s ok\n' "$name"
    else
        printf 'lint: %-9s FAILED\n%s\n' "$name" "$output"
        failed=1
    fi
done
exit "$failed"
