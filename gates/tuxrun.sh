#!/bin/sh
# TuxMake builds a kernel from each of two trees, TuxRun boots it, and Tennis asks whether the second one answers
# later: docs/gates.md. It ends as `tennis compare` does: 0 not later, 1 later, 3 undecided.
#
#   gates/tuxrun.sh BEFORE AFTER          two clean trees of Linux; the rest lands in the folder where you are
#
# Environment: FLAVOUR (mainline or rt), LOAD, BALLS, BOOTS, MARGIN (per cent), MINUTES.
set -eu

[ $# = 2 ] || {
    echo "tuxrun.sh: name two trees of Linux: before, after" >&2
    exit 2
}
flavour=${FLAVOUR:-mainline}
{
    cat "$(dirname "$0")/../target/kernels/small.config"
    tennis kernels check "$flavour"
} >tennis.config

build() {
    tuxmake --directory "$2" --target-arch arm64 --kconfig defconfig --kconfig-add "$PWD/tennis.config" \
        --build-dir "$PWD/$1/build" --output-dir "$PWD/$1" config kernel modules
    tennis kernels check "$flavour" "$1/build/.config"
    # a kernel that does not boot needs no hour of balls
    tuxrun --device qemu-arm64 --tuxmake "$PWD/$1"
}
build before "$1"
build after "$2"
tennis compare before/build after/build --load "${LOAD:-stress}" --balls "${BALLS:-20000}" --once \
    --boots "${BOOTS:-40}" --margin "${MARGIN:-20}" --minutes "${MINUTES:-60}" --out gate --summary gate.md
