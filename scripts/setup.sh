#!/usr/bin/env bash
# Make this checkout ready to play: Debian packages, the Python environment .venv, kernels.
#
#   scripts/setup.sh [--STAGE...] [--plan]
#
# Without a stage: what `make demo` needs. --help lists the stages, which STAGES below has.
#
# It says what it will install and download before it does so, and a second run downloads nothing.
# Environment: TENNIS_CACHE (kernels; default ~/.cache/tennis), TENNIS_PYTHON (default
# /usr/bin/python3), TENNIS_OS_RELEASE (default /etc/os-release; for the tests).
set -euo pipefail

readonly PIP_VERSION=26.3 # 25.1 or newer: dependency groups; 25.3: build constraints
readonly KERNELS=(mainline rt)
readonly TEST_KERNELS=(mainline-6.1 rt-6.1 mainline-7 rt-7)
# stage, MB of Python packages to download, groups of pyproject.toml with commas, what it is for;
# scripts/programs.txt says which programs belong to which
STAGES=$(
    cat <<'END'
pico       45 -                                                what the emulated Pico needs (tennis brickwall verify --bench virtual)
lab        165 lab,book                                        what a student's labs need: JupyterLab, checks, the books, SLOTH's compiler
room       30 room                                             what one server for a class needs: JupyterHub (docs/rooms.md)
provision  45 provision                                        what provisioning targets needs (docs/provisioning.md)
cluster    65 cluster                                         what a match on many machines needs (docs/cluster.md)
dist       55 dist                                            what make dist needs
first      130 first                                           what a first test needs (make unit TESTS=FILE): Python packages alone
unit       400 first,lab,book,check,provision,cluster,dist what `make unit` needs: no kernels, no emulated Pico, no browser
test       400 -                                               what `make test` needs; all of the others are part of it
END
)
readonly STAGES
readonly OF_TEST=(pico lab room provision unit) # what --test stands for, besides its own programs
declare -A WITH=()                         # the stages that are wanted
BESIDE=""                                  # the process that fetches kernels meanwhile

readonly SILENT_S=20     # a server that says nothing
readonly DOWNLOAD_S=3600 # one that says little

. "$(dirname "${BASH_SOURCE[0]}")/here.sh"
HERE=$(pwd -P)
readonly HERE
readonly CACHE=${TENNIS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/tennis}
readonly OS_RELEASE=${TENNIS_OS_RELEASE:-/etc/os-release}

say() { printf '%s\n' "$*"; }

die() {
    printf 'setup: %s\n' "$1" >&2
    [[ $# -lt 2 ]] || printf '%s\n' "${@:2}" >&2
    exit 1
}

unsupported() {
    die "$1" \
        "" \
        "Tennis sets itself up on Debian 12 or 13, on Raspberry Pi OS (64-bit, 12 or newer) and on Ubuntu" \
        "(24.04 or newer), on x86-64 and arm64. On other Linux systems, play in a container. In this folder:" \
        "" \
        "  docker run --rm -it -v \"\$PWD\":/tennis -v tennis-cache:/root/.cache -w /tennis debian:13 \\" \
        "    sh -c 'apt-get update && apt-get install -y --no-install-recommends make && make demo'" \
        "" \
        "With podman: the same, with \"podman run\" and \"\$PWD\":/tennis:Z." \
        "The report is then in demo/report.html of this folder. More: docs/install.md"
}

# What Debian calls the machine; refuses what cannot play.
check_platform() {
    local id="" version="" pretty="" machine
    [[ $(uname -s) == Linux ]] || unsupported "this is $(uname -s), not Linux."
    if [[ -r $OS_RELEASE ]]; then
        # shellcheck disable=SC1090,SC2153 # the file of os-release(5) is a shell fragment
        IFS=$'\t' read -r id version pretty < <(
            unset ID VERSION_ID PRETTY_NAME
            . "$OS_RELEASE"
            printf '%s\t%s\t%s\n' "${ID:-none}" "${VERSION_ID:-none}" "${PRETTY_NAME:-an unknown Linux}"
        )
    fi
    [[ $id != raspbian ]] ||
        unsupported "${pretty} is the 32-bit system; Raspberry Pi OS (64-bit) is needed."
    [[ $id == debian || $id == ubuntu ]] ||
        unsupported "this is ${pretty:-an unknown Linux}, not Debian, Raspberry Pi OS or Ubuntu."
    case $id-$version in
        ubuntu-1[0-9].* | ubuntu-2[0-3].*) unsupported "${pretty} is too old: 24.04 is the first with Python 3.11 or newer." ;;
        ubuntu-*) say "Note: Tennis takes the packages of Ubuntu, and kernels of Debian, from TENNIS_MIRROR (docs/install.md). Nobody tried that on ${pretty} yet." ;;
        debian-12 | debian-13) ;;
        debian-none | debian-1[4-9]) say "Note: ${pretty} is newer than what Tennis is tested on (Debian 12 and 13)." ;;
        *) unsupported "${pretty} is too old." ;;
    esac
    command -v apt-get >/dev/null || unsupported "apt-get is missing."
    if [[ $(uname -r) == *[Mm]icrosoft* ]]; then
        # there neither locks nor links are Linux's
        ! [[ $HERE/ =~ ^/mnt/[a-z]/ || $CACHE/ =~ ^/mnt/[a-z]/ ]] ||
            die "${BASH_REMATCH[0]} is Windows' disk; move this folder and TENNIS_CACHE to Linux's own, below $HOME."
        say "Note: this is Linux on Windows (WSL). Nobody tried Tennis there yet."
    fi
    machine=$(dpkg --print-architecture)
    case $machine in
        amd64 | arm64) ARCH=$machine ;;
        armhf | armel | i386) unsupported "this is a 32-bit system (${machine}); 64 bits are needed." ;;
        *) unsupported "this is ${machine}; Tennis plays on amd64 and arm64." ;;
    esac
}

# The packages of the wanted stages, from the table that the callers of programs share.
wanted_packages() {
    local program package stage when
    while read -r program package stage when; do
        case $program in "" | \#*) continue ;; esac
        case $stage in
            # a first test starts nothing but Python; what starts more is set up when it fails
            base) [[ ${!WITH[*]} != first || $package == python3* || $package == ca-certificates ]] || continue ;;
            # the quick tests build nothing for a Cortex-M, and its compiler is large
            lab) [[ -v WITH[lab] ]] || [[ -v WITH[unit] && $package != *-arm-none-eabi ]] || continue ;;
            unit | pico | room | provision | test) [[ -v WITH[$stage] ]] || continue ;;
            *) continue ;;
        esac
        case $when in
            always | "$ARCH") printf '%s\n' "$package" ;;
            absent) command -v "$program" >/dev/null || printf '%s\n' "$package" ;;
        esac
    done <"$HERE/scripts/programs.txt" | awk '!seen[$0]++'
}

missing_packages() {
    local package status
    while read -r package; do
        status=$(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null) || status=""
        [[ " $status" == *" installed "* ]] || printf '%s\n' "$package"
    done
}

# A .venv that runs and that was made here: its programs name the place where it was made.
venv_works() {
    [[ -x .venv/bin/pip ]] && grep -qF "$HERE/.venv/bin/python" .venv/bin/pip &&
        .venv/bin/python -c '' 2>/dev/null
}

# What decides what is in .venv: if this changes, pip runs again.
fingerprint() {
    {
        cat pyproject.toml constraints.txt
        printf '%s %s %s\n' "$PIP_VERSION" "$HERE" "$(.venv/bin/python -VV 2>/dev/null || true)"
    } | sha256sum | cut -c 1-16
}

# Arguments: groups of pyproject.toml.
python_is_ready() {
    local group print
    venv_works || return 1
    print=$(fingerprint)
    for group in base "$@"; do [[ -e .venv/.tennis-$group-$print ]] || return 1; done
}

# Arguments: what failed, the file with what was said.
die_of() {
    local why="Is the network there?"
    ! grep -q "Could not get lock" "$2" || why="Another program installs packages: wait for it, or end it, then run this again."
    ! grep -q "dpkg --configure -a" "$2" || why="An installation was interrupted. As root, run dpkg --configure -a, then run this again."
    die "$1. $why What is there already is kept. It said:" "$(tail -n 20 "$2")"
}

as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo -- "$@"; fi
}

# What apt-get would download, from the package lists as they are; on a fresh system there are none.
download_size() {
    local size
    size=$(LC_ALL=C apt-get -o Debug::NoLocking=1 install --no-install-recommends --assume-no "$@" 2>/dev/null |
        sed -n 's/^Need to get \(.*\) of archives.*/\1/p') || true
    printf '%s\n' "${size:-up to 200 MB}"
}

install_packages() {
    local log
    if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
        die "these packages are missing, and installing them takes root or sudo. As root, run:" \
            "  apt-get install --no-install-recommends $*"
    fi
    # sudo asks at the terminal, not at standard input
    if [[ $(id -u) != 0 ]] && ! sudo -n true 2>/dev/null && ! (: </dev/tty) 2>/dev/null; then
        die "sudo asks for a password, and there is no terminal to type it at. As root, run:" \
            "  apt-get install --no-install-recommends $*"
    fi
    log=$(mktemp)
    # shellcheck disable=SC2064 # the name as it is now
    trap "rm -f '$log'" RETURN
    local apt=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -o DPkg::Lock::Timeout=300
        -o "Acquire::http::Timeout=$SILENT_S" -o "Acquire::https::Timeout=$SILENT_S")
    say "Updating the package lists ..."
    as_root "${apt[@]}" -qq update >"$log" 2>&1 || die_of "apt-get update failed" "$log"
    # without a network it only warned, and its packages are not found below
    say "Installing Debian packages ($(download_size "$@") to download) ..."
    as_root "${apt[@]}" -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends "$@" >>"$log" 2>&1 ||
        die_of "apt-get install failed" "$log"
}

find_python() {
    local python=${TENNIS_PYTHON:-/usr/bin/python3}
    "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        die "$python is not Python 3.11 or newer with its venv module; set TENNIS_PYTHON to one that is."
    printf '%s\n' "$python"
}

pip() {
    # where a user's pip.conf installs is not here; where it fetches from stays
    PIP_USER=0 PIP_TARGET='' PIP_PREFIX='' PIP_ROOT='' timeout "$DOWNLOAD_S" .venv/bin/python -m pip --disable-pip-version-check --no-input --quiet \
        --retries 2 --timeout "$SILENT_S" "$@"
}

install_python() {
    local python group print log arguments=()
    log=$(mktemp)
    # shellcheck disable=SC2064 # the name as it is now
    trap "rm -f '$log'" RETURN
    if ! venv_works; then
        python=$(find_python)
        say "Making .venv with $("$python" -V) ..."
        "$python" -m venv --clear .venv || die "python3 -m venv failed."
    fi
    say "Installing Python packages into .venv ..."
    pip install "pip==$PIP_VERSION" >"$log" 2>&1 || die_of "pip could not update itself" "$log"
    for group in "$@"; do arguments+=(--group "$group"); done
    pip install --constraint constraints.txt --build-constraint constraints.txt \
        --editable '.[boards,pico,pictures]' "${arguments[@]}" >"$log" 2>&1 || die_of "pip install failed" "$log"
    print=$(fingerprint)
    find .venv -maxdepth 1 -name '.tennis-*' ! -name "*-$print" -delete
    for group in base "$@"; do : >".venv/.tennis-$group-$print"; done
}

# Begin to fetch kernels beside pip, which leaves the network idle for most of its time: this takes Python alone.
# Arguments: kernels. Who needs them later waits for what is at work, and says what went wrong.
fetch_beside() {
    local python
    python=$(find_python 2>/dev/null) || return 0
    "$python" -I - "$HERE" "$@" <<'END' &
import signal
import sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # with what it started
sys.path.insert(0, sys.argv[1])
from tennis.bench.kernels import catalogue
from tennis.bench.virtual import initramfs
from tennis.kit.log import listening

try:
    with listening(lambda line: print(line, flush=True)):
        initramfs.fetch()
        for name in sys.argv[2:]:
            catalogue.fetch(name)
except (Exception, KeyboardInterrupt):  # it is tried again, and what is wrong is said then
    sys.exit(1)
END
    BESIDE=$!
    # shellcheck disable=SC2064 # the number as it is now
    trap "kill $BESIDE 2>/dev/null || true" EXIT
}

readonly EMULATOR=kit-firmware/emulator

emulator_is_ready() {
    cmp -s "$EMULATOR/package.json" "$EMULATOR/node_modules/.tennis-package.json"
}

install_emulator() {
    say "Installing the emulator's npm packages into $EMULATOR/node_modules ..."
    local log
    log=$(mktemp)
    # shellcheck disable=SC2064 # the name as it is now
    trap "rm -f '$log'" RETURN
    timeout "$DOWNLOAD_S" npm install --prefix "$EMULATOR" --no-package-lock --omit=dev --no-audit \
        --no-fund --loglevel=error --fetch-retries=1 --fetch-timeout="${SILENT_S}000" >"$log" 2>&1 ||
        die_of "npm install failed" "$log"
    cp "$EMULATOR/package.json" "$EMULATOR/node_modules/.tennis-package.json"
}

# The help: how it is called, and the stages.
usage() {
    printf 'scripts/setup.sh [--STAGE...] [--plan]\n\n'
    printf '  %-13s %s\n' "" "what \`make demo\` needs" "--plan" "say what would be done, and do nothing"
    local stage megabytes groups what
    while read -r stage megabytes groups what; do
        [[ -z $stage ]] || printf '  %-13s also %s\n' "--$stage" "$what"
    done <<<"$STAGES"
}

# Want a stage, with its groups and what it stands for; the caller has groups and megabytes.
want() {
    local stage more of what named=()
    while read -r stage more of what; do
        [[ $stage == "$1" && -n $stage ]] || continue
        WITH[$stage]=yes
        ((more <= megabytes)) || megabytes=$more
        [[ $of == - ]] || IFS=, read -ra named <<<"$of"
        groups+=("${named[@]}")
        return
    done <<<"$STAGES"
    echo "setup: unknown option --$1; try --help." >&2
    exit 2
}

main() {
    local groups=() megabytes=45 plan_only="" missing=() kernels=("${KERNELS[@]}") todo=() stage
    while [[ $# -gt 0 ]]; do
        case $1 in
            --plan) plan_only=yes ;;
            -h | --help)
                usage
                exit 0
                ;;
            --?*) want "${1#--}" ;;
            *)
                echo "setup: unknown option $1; try --help." >&2
                exit 2
                ;;
        esac
        shift
    done
    [[ ! -v WITH[unit] && ! -v WITH[first] ]] || kernels=()
    if [[ -v WITH[test] ]]; then
        for stage in "${OF_TEST[@]}"; do want "$stage"; done
        kernels=("${KERNELS[@]}" "${TEST_KERNELS[@]}")
    fi

    check_platform
    mapfile -t missing < <(wanted_packages | missing_packages)
    [[ ${#missing[@]} == 0 ]] ||
        todo+=("Debian packages, $(download_size "${missing[@]}") to download, with apt-get$([[ $(id -u) == 0 ]] || echo ' through sudo'):" "  ${missing[*]}")
    python_is_ready "${groups[@]}" ||
        todo+=("Python packages, about $megabytes MB to download, into $HERE/.venv")
    [[ ! -v WITH[pico] ]] || emulator_is_ready ||
        todo+=("npm packages, 1 MB to download, into $HERE/$EMULATOR/node_modules")
    if [[ -n $plan_only || ${#todo[@]} -gt 0 ]]; then
        if [[ ${#todo[@]} -gt 0 ]]; then
            say "This will install:"
            printf '  %s\n' "${todo[@]}"
        fi
        [[ ${#kernels[@]} == 0 ]] || say "and keep in $CACHE, unless they are there:" \
            "Debian's arm64 kernels (${kernels[*]}), about 100 MB each to download."
        [[ ! -v WITH[pico] ]] || say "MicroPython for the emulated Pico, 10 MB to download and a minute to build."
    fi
    [[ -z $plan_only ]] || exit 0

    # two setups of one checkout take turns
    exec 9<"$HERE/scripts/setup.sh"
    if ! flock --nonblock 9; then
        say "Waiting for another setup of this checkout, an hour at most ..."
        flock --timeout "$DOWNLOAD_S" 9 || die "another setup of this checkout does not end; end it."
    fi

    [[ ${#missing[@]} == 0 ]] || install_packages "${missing[@]}"
    if ! python_is_ready "${groups[@]}"; then
        [[ ${#kernels[@]} == 0 ]] || fetch_beside "${kernels[@]}"
        install_python "${groups[@]}"
    fi
    if [[ -n $BESIDE ]]; then
        say "The Python packages are there; fetching the rest of the kernels ..."
        wait "$BESIDE" || true
        trap - EXIT
    fi
    [[ ${#kernels[@]} == 0 ]] || .venv/bin/tennis kernels fetch "${kernels[@]}"
    if [[ -v WITH[pico] ]]; then
        emulator_is_ready || install_emulator
        .venv/bin/python -m tennis.bench.instruments.micropython
    fi
}

main "$@"
