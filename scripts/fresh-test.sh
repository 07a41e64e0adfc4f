#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
#
# Set Tennis up in a bare Debian, stage by stage, and run its main commands there: a machine on which
# somebody once installed something shows no missing package.
#
#   scripts/fresh-test.sh                    in a bare Debian 12 and a bare Debian 13
#   scripts/fresh-test.sh trixie             in one of them
#   scripts/fresh-test.sh --unit trixie      there `make lint unit` and the books, from nothing
#   scripts/fresh-test.sh --whole trixie     there `make test` and `make test-all`, from nothing (above an hour)
#   scripts/fresh-test.sh --demo trixie      there `make demo` alone, from nothing
#   scripts/fresh-test.sh --wheel            no checkout: the wheel, by pipx, and `tennis demo` to its end
#   scripts/fresh-test.sh --wheel ubuntu     that where os-release says Ubuntu and apt knows no Debian (it is trixie)
#   scripts/fresh-test.sh --keep trixie      leave the system behind, to look at
#
# There is nothing but make and git in it (--wheel: nothing), and how this machine reaches its mirrors (resolv.conf,
# hosts, certificates, the settings of pip and npm). What is committed is tested. It takes root, mmdebstrap and about
# 10 GB below TMPDIR (/var/tmp); the logs are in build/fresh-test.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
HERE=$(pwd -P)
readonly HERE
readonly LOGS=$HERE/build/fresh-test
SCRATCH=${TMPDIR:-/var/tmp}
[[ $SCRATCH != /tmp ]] || SCRATCH=/var/tmp
WHOLE="" UNIT="" KEEP="" DEMO="" WHEEL=""

die() {
    printf 'fresh-test: %s\n' "$*" >&2
    exit 1
}

# Run a line in the system, as root, in name spaces of its own: what it leaves running ends with it.
inside() {
    local root=$1 line=$2
    # what reaches the mirrors; nothing else of this shell's environment
    local pass=()
    mapfile -t pass < <(env | grep -iE '^(https?_proxy|no_proxy|PIP_(CERT|INDEX_URL|DEFAULT_TIMEOUT)|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS)=' || true)
    # shellcheck disable=SC2016 # the inner shell expands them
    unshare --mount --pid --fork --kill-child bash -euc '
        root=$1 line=$2
        shift 2
        mount --make-rprivate /
        mount --bind "$root" "$root" # a root that is no mount point lets nobody unshare mounts
        mount --rbind /dev "$root/dev"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount -t tmpfs tmpfs "$root/run"
        # not chroot: in one, the kernel refuses user namespaces, and with them every box of bubblewrap
        cd "$root"
        pivot_root . mnt
        umount --lazy /mnt
        exec /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            LANG=C.UTF-8 TERM=dumb CI=true "$@" /bin/bash -euo pipefail -c "cd /root/tennis 2>/dev/null || cd; $line"
    ' fresh-test "$root" "$line" "${pass[@]}" </dev/null
}

# Print the processor seconds of all that this shell has waited for: on a busy machine, the time on the wall says little.
used_s() {
    awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($14 + $15) / ticks) }' "/proc/$$/stat"
}

# Run a step, say how long it took, and where its words are when it fails.
step() {
    local suite=$1 root=$2 line=$3 log began used
    log=$LOGS/$suite.log
    began=$SECONDS
    used=$(used_s)
    printf '%s: %s ... ' "$suite" "$line"
    printf '\n== %s\n' "$line" >>"$log"
    # each line with the seconds since its step began: when did the first figure come?
    if ! inside "$root" "$line" 2>&1 | while IFS= read -r said; do
        printf '%5d  %s\n' "$((SECONDS - began))" "$said"
    done >>"$log"; then
        printf 'FAILED after %d s\n' "$((SECONDS - began))"
        tail -n 25 "$log"
        die "$suite: $line failed; all of it: $log"
    fi
    # README and docs/install.md say how much disk each stage takes: this is where they have it from
    printf '%d s, of processor time %d s; the system is now %s, of it %s in .venv and %s in the cache\n' \
        "$((SECONDS - began))" "$(($(used_s) - used))" \
        "$(du -shx "$root" | cut -f 1)" \
        "$(du -sh "$root/root/tennis/.venv" 2>/dev/null | cut -f 1)" \
        "$(du -sh "$root/root/.cache/tennis" 2>/dev/null | cut -f 1)"
}

make_system() {
    local suite=$1 root=$2 file with=()
    printf '%s: a bare system ... ' "$suite"
    [[ -n $WHEEL ]] || with=(--include=make --include=git)
    mmdebstrap --quiet --variant=minbase "${with[@]}" "${suite/ubuntu/trixie}" "$root" "$MIRROR" \
        >"$LOGS/$suite.log" 2>&1 || die "mmdebstrap failed: $(tail -n 3 "$LOGS/$suite.log")"
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/npmrc /root/.npmrc; do
        [[ ! -e $file ]] || install -D -m 644 "$file" "$root$file"
    done
    [[ ! -d /usr/local/share/ca-certificates ]] || cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    # certificates that nobody's package holds: the bundle as it is, until a package replaces it
    install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    if [[ -n $WHEEL ]]; then
        cp "$LOGS"/dist/*.whl "$root/root/"
    else
        git clone --quiet --no-hardlinks "$HERE" "$root/root/tennis"
    fi
    [[ $suite != ubuntu ]] ||
        printf 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04"\n' >"$root/etc/os-release"
    printf '%s\n' "$(du -sh "$root" | cut -f 1)"
}

test_suite() {
    local suite=$1 root
    root=$(mktemp -d "$SCRATCH/tennis-fresh-$suite-XXXXXX")
    chmod 755 "$root"
    # shellcheck disable=SC2064 # the folder as it is now
    [[ -n $KEEP ]] || trap "rm -rf --one-file-system '$root'" EXIT
    make_system "$suite" "$root"
    if [[ -n $WHOLE ]]; then
        step "$suite" "$root" "make test && make READY=1 test-all"
        tail -n 3 "$LOGS/$suite.log"
    elif [[ -n $WHEEL ]]; then
        # as docs/install.md has it; what tennis setup says is what is typed next
        local tennis="PATH=/root/.local/bin:\$PATH; tennis" told="sed -n \"s/.*: run '\(.*\)', then 'tennis setup' again/\1/p\""
        step "$suite" "$root" "apt-get update && apt-get install -y --no-install-recommends pipx"
        step "$suite" "$root" "pipx install ./tennis_rt-*.whl"
        step "$suite" "$root" "$tennis setup >said 2>&1 && exit 1; cat said; DEBIAN_FRONTEND=noninteractive; $told said >told; grep -q apt-get told; bash -ec \"\$(cat told) -y\""
        if [[ $suite == ubuntu ]]; then
            # such a system's apt has no packages of Debian's
            rm -rf "$root"/etc/apt/sources.list* "$root"/var/lib/apt/lists/*
            step "$suite" "$root" "$tennis setup >said 2>&1 && exit 1; cat said; grep -q 'export TENNIS_MIRROR=' said"
            tennis="export TENNIS_MIRROR=$MIRROR; $tennis"
        fi
        step "$suite" "$root" "$tennis setup"
        step "$suite" "$root" "$tennis demo"
        step "$suite" "$root" "$tennis rally --kernel rt --load stress --balls 500 --out first && tennis check first"
    elif [[ -n $DEMO ]]; then
        step "$suite" "$root" "make demo"
    elif [[ -n $UNIT ]]; then
        step "$suite" "$root" "scripts/setup.sh --unit"
        step "$suite" "$root" "make lint-all unit && make READY=1 docs"
    else
        local play=". .venv/bin/activate; cd /tmp; tennis"
        step "$suite" "$root" "make demo"
        step "$suite" "$root" "$play rally --kernel rt --load stress --balls 500 --out first"
        step "$suite" "$root" "$play stats first && tennis report first --out first.html && tennis plot first"
        step "$suite" "$root" "$play explain first && tennis doctor"
        step "$suite" "$root" "$play check first"
        step "$suite" "$root" "scripts/setup.sh --cluster"
        step "$suite" "$root" ". .venv/bin/activate; dask scheduler --version"
        step "$suite" "$root" "scripts/setup.sh --lab"
        step "$suite" "$root" "make docs && $play lab start 01 --as Ada && { tennis lab check 01 || true; } && cd lab-01 && jupyter lab --version"
        step "$suite" "$root" "scripts/setup.sh --unit"
        step "$suite" "$root" "scripts/setup.sh --pico"
        step "$suite" "$root" "$play brickwall verify --bench virtual --balls 2"
        step "$suite" "$root" "scripts/setup.sh --provision"
        step "$suite" "$root" ". .venv/bin/activate; cd ansible; ansible-playbook -i inventory.example site.yml --syntax-check"
        step "$suite" "$root" "scripts/setup.sh --test"
        step "$suite" "$root" "make lint-all docs"
        step "$suite" "$root" "make unit TESTS='tests/umpire/test_decoder.py tests/bench/targets/test_ssh.py tests/browser'"
    fi
    [[ -z $KEEP ]] && rm -rf --one-file-system "$root" || printf '%s: %s\n' "$suite" "$root"
    trap - EXIT
}

suites=()
for word; do
    case $word in
        --whole) WHOLE=yes ;;
        --unit) UNIT=yes ;;
        --demo) DEMO=yes ;;
        --wheel) WHEEL=yes ;;
        --keep) KEEP=yes ;;
        bookworm | trixie | ubuntu) suites+=("$word") ;;
        -h | --help)
            sed -n '5,21s/^# \{0,1\}//p' "$HERE/scripts/fresh-test.sh"
            exit 0
            ;;
        *) die "unknown word $word; try --help" ;;
    esac
done
[[ ${#suites[@]} -gt 0 ]] || suites=(bookworm trixie ${WHEEL:+ubuntu})
[[ -n $WHEEL || " ${suites[*]} " != *" ubuntu "* ]] || die "ubuntu is tried with --wheel"
[[ $(id -u) == 0 ]] || die "it takes root: a system is made, and started in"
command -v mmdebstrap >/dev/null || die "mmdebstrap is missing: apt-get install mmdebstrap arch-test"
[[ -x .venv/bin/python ]] || die "run scripts/setup.sh first: it asks tennis for the mirror"
MIRROR=$(.venv/bin/python -c 'from tennis.bench.debian import mirror; print(mirror())')
mkdir -p "$LOGS"
if [[ -n $WHEEL ]]; then
    rm -rf "$LOGS/dist"
    scripts/dist.sh "$LOGS/dist" >"$LOGS/dist.log" 2>&1 || die "no wheel was built: $(tail -n 3 "$LOGS/dist.log")"
fi
for suite in "${suites[@]}"; do test_suite "$suite"; done
printf 'fresh-test: passed (%s)\n' "${suites[*]}"
