#!/usr/bin/env bash
# Build what people install, into dist/ or the folder named: a wheel, an sdist, a list of what it is made of
# (CycloneDX), and checksums. The same commit gives the same bytes: times are those of the commit.
set -euo pipefail

out=$(realpath -m "${1:-dist}")
. "$(dirname "${BASH_SOURCE[0]}")/here.sh"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$PWD
[[ ! -e $out ]] || {
    echo "dist: $out exists: remove it, or name another folder" >&2
    exit 2
}
[[ -z $(git status --porcelain --untracked-files=no) ]] ||
    echo "dist: Note: files differ from the commit, so nobody else gets these bytes."
# one build at a time: what it has made so far lies beside the folder, until it is whole
exec 9<scripts/dist.sh
flock --nonblock 9 || {
    echo "dist: another build of this checkout runs: wait for it" >&2
    exit 2
}
part=$out.part
rm -rf "$part"
trap 'rm -rf "$part"' EXIT
scratch=$part/tree
mkdir -p "$scratch" "$part/dist"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# git's own copy: what lies beside it in this folder is nobody's package
git ls-files -z | while IFS= read -r -d '' name; do [[ ! -e $name && ! -L $name ]] || printf '%s\0' "$name"; done |
    tar --null --files-from=- --create --file=- | tar --extract --file=- --directory="$scratch"
# between releases a version has its commit: what is installed has no git to ask
sed -i "s/^\(version = \"[0-9.]*\.dev[0-9]*\)\"/\1+$(git rev-parse HEAD | cut -c 1-8)\"/" "$scratch/pyproject.toml"
python=$PWD/.venv/bin/python
(cd "$scratch" && "$python" -m hatchling build -d "$part/dist" >/dev/null)
"$python" scripts/dependencies.py >"$scratch/requirements.txt"
# a serial number and the time of making would differ each time
"$python" -m cyclonedx_py requirements --output-reproducible --spec-version 1.6 --pyproject pyproject.toml \
    --mc-type application --of JSON --output-file "$part/dist/sbom.cdx.json" "$scratch/requirements.txt" 2>/dev/null
(cd "$part/dist" && sha256sum -- *.whl *.tar.gz *.json >SHA256SUMS)
mv --no-target-directory "$part/dist" "$out"
printf 'dist: %s\n' "$out"/*
