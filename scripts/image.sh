#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
#
# Build the container image, one file that Docker and Podman load: a bare Debian 13, what playing needs, Tennis
# from its wheel, and kernels. No daemon takes part.
#
#   scripts/image.sh [FILE]          default: dist/tennis.oci.tar
#   IMAGE_ARCH=arm64 scripts/image.sh FILE      (make image ARCH=arm64)
#
# The same commit and the same packages of Debian give the same bytes: times are those of the commit. An
# architecture that is not this machine's needs QEMU's user mode (packages qemu-user-static, binfmt-support). It takes
# mmdebstrap, and some 6 GB below TMPDIR (/var/tmp).
set -euo pipefail

file=$(realpath -m "${1:-dist/tennis.oci.tar}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
die() {
    printf 'image: %s\n' "$1" >&2
    exit 1
}
readonly SUITE=trixie PYTHON=3.13 # Debian 13, and its Python
readonly KERNELS=(mainline rt)
[[ ! -e $file ]] || die "$file exists: remove it, or name another file"
command -v mmdebstrap >/dev/null || die "mmdebstrap is missing: run 'apt-get install mmdebstrap arch-test'"
[[ -x .venv/bin/python ]] || die "there is no .venv: run scripts/setup.sh --dist"
arch=${IMAGE_ARCH:-$(dpkg --print-architecture)}
case $arch in
    amd64) platform=x86_64 ;;
    arm64) platform=aarch64 ;;
    *) die "IMAGE_ARCH is $arch: amd64 and arm64 play" ;;
esac
[[ $arch == "$(dpkg --print-architecture)" ]] || arch-test "$arch" >/dev/null ||
    die "this machine runs no program for $arch: install qemu-user-static and binfmt-support, with binfmt_misc mounted"
scratch_home=${TMPDIR:-/var/tmp}
[[ $scratch_home != /tmp ]] || scratch_home=/var/tmp
scratch=$(mktemp -d "$scratch_home/tennis-image-XXXXXX")
trap 'rm -rf --one-file-system "$scratch"' EXIT
chmod 755 "$scratch" # with an ordinary user, mmdebstrap reads it under another number

export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$PWD
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
revision=$(git rev-parse HEAD)
python=$PWD/.venv/bin/python
mirror=$("$python" -c 'from tennis.bench.debian import mirror; print(mirror())')

echo "image: the wheel, and the Python packages that it needs"
scripts/dist.sh "$scratch/dist" >"$scratch/log" 2>&1 || die "no wheel was built: $(tail -n 5 "$scratch/log")"
version=$(basename "$scratch"/dist/tennis_rt-*.whl | cut -d - -f 2)
"$python" scripts/dependencies.py >"$scratch/requirements.txt"
site=$scratch/site
"$python" -m pip --disable-pip-version-check --no-input --quiet install --no-deps --no-compile --target "$site" \
    --implementation cp --python-version "$PYTHON" --platform "manylinux_2_28_$platform" \
    --platform "manylinux_2_17_$platform" --platform "manylinux2014_$platform" --only-binary :all: \
    --requirement "$scratch/requirements.txt" "$scratch"/dist/*.whl
# what names this machine: its Python in the programs, the wheel's folder
rm -rf "${site:?}/bin" "$site"/*.dist-info/direct_url.json
sed -i '/^\.\.\/\.\.\//d; /direct_url.json/d' "$site"/*.dist-info/RECORD
chmod -R a+rX "$site"

# the packages of scripts/setup.sh's first stage
packages=$(awk -v arch="$arch" '!/^#/ && $3 == "base" && ($4 == "always" || $4 == arch) { print $2 }' \
    scripts/programs.txt | sort -u | paste -sd ,)

# What is done in the new system, with its root as $1. What leads from it to this machine goes.
cat >"$scratch/furnish" <<'END'
set -euo pipefail
root=$1
install -d "$root/usr/local/lib/python$PYTHON/dist-packages" "$root/opt/tennis/cache" "$root/work"
cp -r --no-preserve=ownership "$scratch/site/." "$root/usr/local/lib/python$PYTHON/dist-packages/"
# processes that play a match import this file again
printf '#!/usr/bin/python3\nfrom tennis.start import main\n\nif __name__ == "__main__":\n    main()\n' \
    >"$root/usr/local/bin/tennis"
chmod 755 "$root/usr/local/bin/tennis"
# an ordinary user cannot keep what Python compiles
chroot "$root" env -i PATH="$PATH" PYTHONHASHSEED=0 LC_ALL=C.UTF-8 \
    python3 -m compileall -q -j 1 --invalidation-mode unchecked-hash "/usr/local/lib/python$PYTHON/dist-packages"
chroot "$root" useradd --create-home --uid 1000 --shell /bin/bash tennis
chroot "$root" env -i PATH="$PATH" HOME=/root LC_ALL=C.UTF-8 TENNIS_CACHE=/opt/tennis/cache TENNIS_MIRROR="$mirror" \
    "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" "${PROXIES[@]}" tennis setup "${KERNELS[@]}"
rm -rf "$root/opt/tennis/cache/apt" "$root"/root/.[a-z]*/ "$root/var/cache/ldconfig" "$root"/var/log/*
# Debian's helper compiled itself as packages came, each time to other bytes; it needs none of that
rm -rf "$root/usr/share/python3/debpython/__pycache__"
# mmdebstrap's apt.conf is there: without it, its last apt-get would empty the lists of this machine
find "$root/tmp" -mindepth 1 -maxdepth 1 ! -name 'mmdebstrap.apt.conf.*' -exec rm -rf {} +
find "$root/var/cache/apt" "$root/var/lib/apt/lists" -type f -delete
find "$root/opt/tennis/cache" -name '.*.lock' -delete
# which number plays there is not known before
chroot "$root" chown -R tennis: /opt/tennis/cache /home/tennis /work
chmod -R a+rwX "$root/opt/tennis/cache" "$root/home/tennis" "$root/work"
chroot "$root" dpkg-query -W -f '${Package}=${Version}\n' >"$root/opt/tennis/debian-packages.txt"
: >"$root/etc/resolv.conf"
: >"$root/etc/machine-id"
echo tennis >"$root/etc/hostname"
echo "# no mirror: name one here, or in TENNIS_MIRROR" >"$root/etc/apt/sources.list"
rm -f "$root"/etc/apt/sources.list.d/*
END
cat >"$scratch/hook" <<END
#!/bin/bash
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
KERNELS=(${KERNELS[*]}) PYTHON=$PYTHON mirror=$(printf %q "$mirror") scratch=$scratch
mapfile -t PROXIES < <(env | grep -iE '^(https?_proxy|no_proxy)=')
. $scratch/furnish
END
chmod 755 "$scratch/hook"

echo "image: Debian's $SUITE for $arch, from $mirror; Tennis $version, its kernels"
TMPDIR="$scratch" mmdebstrap --quiet --variant=apt --architectures="$arch" --include="$packages" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook="$scratch/hook \"\$1\"" "$SUITE" "$scratch/root.tar" "deb $mirror $SUITE main" >"$scratch/log" 2>&1 ||
    die "building the system failed: $(tail -n 20 "$scratch/log")"

echo "image: the layout"
"$python" scripts/oci.py write "$scratch/root.tar" "$file" --architecture "$arch" --version "$version" \
    --revision "$revision" --created "$SOURCE_DATE_EPOCH"
# beside what `make dist` built, its checksum is one of those that are signed
sums=$(dirname "$file")/SHA256SUMS
if [[ -f $sums ]]; then
    name=$(basename "$file")
    { grep -v "  $name\$" "$sums" || true; } >"$scratch/sums"
    (cd "$(dirname "$file")" && sha256sum -- "$name") >>"$scratch/sums"
    cp "$scratch/sums" "$sums"
fi
printf 'image: %s, %s MB\n' "$file" "$(($(stat -c %s "$file") / 1000000))"
