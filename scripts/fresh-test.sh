#!/usr/bin/env bash
# Set Tennis up in a bare Debian and run its main commands there: a machine on which somebody once
# installed something shows no missing package.
#
#   scripts/fresh-test.sh [SUITE...]            stage by stage; SUITE: bookworm, trixie; default: both
#   scripts/fresh-test.sh --whole [SUITE...]    `make test` and `make test-all` (above an hour)
#   scripts/fresh-test.sh --wheel [SUITE...]    no checkout: the wheel, by pipx, and `tennis demo`
#
# There is nothing but make and git in it (--wheel: nothing), and how this machine reaches its mirrors (resolv.conf,
# hosts, certificates, the settings of pip and npm). What is committed is tested. It takes root, mmdebstrap and about
# 10 GB below TMPDIR (/var/tmp); the logs are in build/fresh-test.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/here.sh"
HERE=$(pwd -P)
readonly HERE
readonly LOGS=$HERE/build/fresh-test
SCRATCH=${TMPDIR:-/var/tmp}
[[ $SCRATCH != /tmp ]] || SCRATCH=/var/tmp

readonly PLAY=". .venv/bin/activate; cd /tmp; tennis"
readonly STAGES=(
    "make demo"
    "$PLAY rally --kernel rt --load stress --balls 500 --out first"
    "$PLAY stats first && tennis report first --out first.html && tennis plot first"
    "$PLAY explain first && tennis doctor && tennis check first"
    "scripts/setup.sh --cluster && . .venv/bin/activate && dask scheduler --version"
    "scripts/setup.sh --lab"
    "make docs && $PLAY lab start 01 --as Ada && { tennis lab check 01 || true; } && cd lab-01 && jupyter lab --version"
    "make lint unit"
    "scripts/setup.sh --pico && $PLAY brickwall verify --bench virtual --balls 2"
    "scripts/setup.sh --provision && . .venv/bin/activate && cd ansible && ansible-playbook -i inventory.example site.yml --syntax-check"
    "scripts/setup.sh --test && make lint-all"
    "make unit TESTS='tests/report/umpire/test_decoder.py tests/bench/targets/test_ssh.py tests/browser'"
)
readonly WHOLE=("make test && make READY=1 test-all")
# as docs/install.md has it; what tennis setup says is what is typed next
readonly INSTALLED="PATH=/root/.local/bin:\$PATH; tennis"
readonly WHEEL=(
    "apt-get update && apt-get install -y --no-install-recommends pipx"
    "pipx install \"\$(echo ./tennis_rt-*.whl)[pictures]\""
    "$INSTALLED setup >said 2>&1 && exit 1; cat said; DEBIAN_FRONTEND=noninteractive; sed -n \"s/.*: run '\(.*\)', then 'tennis setup' again/\1/p\" said >told; grep -q apt-get told; bash -ec \"\$(cat told) -y\""
    "$INSTALLED setup"
    "$INSTALLED demo"
    "$INSTALLED rally --kernel rt --load stress --balls 500 --out first && tennis check first"
)

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

# Run a step, say how long it took and how much disk the system has now, or what failed.
step() {
    local suite=$1 root=$2 line=$3 log=$LOGS/$1.log began=$SECONDS
    printf '%s: %s ... ' "$suite" "$line"
    printf '\n== %s\n' "$line" >>"$log"
    if ! inside "$root" "$line" >>"$log" 2>&1; then
        printf 'FAILED after %d s\n' "$((SECONDS - began))"
        tail -n 25 "$log"
        die "$suite: $line failed; all of it: $log"
    fi
    # docs/install.md says how much disk each stage takes: this is where it has it from
    printf '%d s; the system is now %s, of it %s in .venv and %s in the cache\n' "$((SECONDS - began))" \
        "$(du -shx "$root" | cut -f 1)" \
        "$(du -sh "$root/root/tennis/.venv" 2>/dev/null | cut -f 1)" \
        "$(du -sh "$root/root/.cache/tennis" 2>/dev/null | cut -f 1)"
}

make_system() {
    local suite=$1 root=$2 file with=(--include=make --include=git)
    [[ $mode != wheel ]] || with=()
    mmdebstrap --quiet --variant=minbase "${with[@]}" "$suite" "$root" "$MIRROR" \
        >"$LOGS/$suite.log" 2>&1 || die "mmdebstrap failed: $(tail -n 3 "$LOGS/$suite.log")"
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/npmrc /root/.npmrc; do
        [[ ! -e $file ]] || install -D -m 644 "$file" "$root$file"
    done
    [[ ! -d /usr/local/share/ca-certificates ]] || cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    # certificates that no package holds: the bundle as it is, until a package replaces it
    install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    if [[ $mode == wheel ]]; then
        cp "$LOGS"/dist/*.whl "$root/root/"
    else
        git clone --quiet --no-hardlinks "$HERE" "$root/root/tennis"
    fi
}

test_suite() {
    local suite=$1 root line
    root=$(mktemp -d "$SCRATCH/tennis-fresh-$suite-XXXXXX")
    chmod 755 "$root"
    # shellcheck disable=SC2064 # the folder as it is now
    trap "rm -rf --one-file-system '$root'" EXIT
    make_system "$suite" "$root"
    for line in "${steps[@]}"; do step "$suite" "$root" "$line"; done
    rm -rf --one-file-system "$root"
    trap - EXIT
}

mode=stages steps=("${STAGES[@]}") suites=()
for word; do
    case $word in
        --whole) mode=whole steps=("${WHOLE[@]}") ;;
        --wheel) mode=wheel steps=("${WHEEL[@]}") ;;
        bookworm | trixie) suites+=("$word") ;;
        -h | --help)
            sed -n '5,14s/^# \{0,1\}//p' "$HERE/scripts/fresh-test.sh"
            exit 0
            ;;
        *) die "unknown word $word; try --help" ;;
    esac
done
[[ ${#suites[@]} -gt 0 ]] || suites=(bookworm trixie)
[[ $(id -u) == 0 ]] || die "it takes root: a system is made, and started in"
command -v mmdebstrap >/dev/null || die "mmdebstrap is missing: apt-get install mmdebstrap arch-test"
[[ -x .venv/bin/python ]] || die "run scripts/setup.sh first: it asks tennis for the mirror"
MIRROR=$(.venv/bin/python -c 'from tennis.bench.debian import mirror; print(mirror())')
mkdir -p "$LOGS"
if [[ $mode == wheel ]]; then
    rm -rf "$LOGS/dist"
    scripts/dist.sh "$LOGS/dist" >"$LOGS/dist.log" 2>&1 || die "no wheel was built: $(tail -n 3 "$LOGS/dist.log")"
fi
for suite in "${suites[@]}"; do test_suite "$suite"; done
printf 'fresh-test: passed (%s)\n' "${suites[*]}"
