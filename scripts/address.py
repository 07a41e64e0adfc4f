#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Write where people get Tennis into the files that say it; the place to fill is pyproject.toml.

scripts/address.py              write README.md and the other pages, CITATION.cff, codemeta.json
scripts/address.py --check      fail if one of them says something else
"""

import re
import sys

from tennis.checkout import ROOT, site_address, source_address

PAGES = ("README.md", "docs/install.md", "CONTRIBUTING.md", "SUPPORT.md")
CITATION = "CITATION.cff"
META = "codemeta.json"
IN_PAGE = re.compile(r"(<!-- address -->).*?(<!-- /address -->)", re.DOTALL)
PAGE_OF_SITE = "docs/look.md"
IN_PICTURE = re.compile(r"^\[look\]: .*$", re.MULTILINE)
IN_META = re.compile(r'^  "codeRepository": .*\n', re.MULTILINE)
IN_CITATION = re.compile(r"(^# address\n).*?(^# /address\n)", re.DOTALL | re.MULTILINE)


def texts(address: str | None) -> dict[str, str]:
    """Return each file as it has to be. Raises ValueError if a file has no place, or several."""
    if address:
        sentence = f"Get Tennis with `git clone {address}`."
        field = f'repository-code: "{address}"\n'
    else:
        sentence = "Tennis is the folder that you have."
        field = "# no address yet: cite the folder that you have\n"
    found: dict[str, str] = {}
    for name in (*PAGES, CITATION):
        place, words = (IN_CITATION, field) if name == CITATION else (IN_PAGE, sentence)
        text = (ROOT / name).read_text()
        found[name], count = place.subn(rf"\g<1>{words}\g<2>", text)
        if count != 1:
            raise ValueError(f"{name} has {count} places for the address, not 1")
    # the README's picture leads to the site, and to the page about it if there is none
    look, count = IN_PICTURE.subn(f"[look]: {site_address() or PAGE_OF_SITE}", found["README.md"])
    if count != 1:
        raise ValueError(f"README.md has {count} places for the site's address, not 1")
    meta = (ROOT / META).read_text()
    meta = IN_META.sub("", meta)
    if address:
        meta = meta.replace('  "version"', f'  "codeRepository": "{address}",\n  "version"', 1)
    return found | {"README.md": look, META: meta}


def main(arguments: list[str]) -> int:
    """Write or check the files; return 1 if one differed in a check."""
    differing = [name for name, text in texts(source_address()).items() if _differs(name, text)]
    if arguments == ["--check"]:
        for name in differing:
            print(f"{name} does not say pyproject.toml's address: run scripts/address.py")
        return bool(differing)
    for name, text in texts(source_address()).items():
        (ROOT / name).write_text(text)
    print("written: " + (", ".join(differing) or "nothing, all say it"))
    return 0


def _differs(name: str, text: str) -> bool:
    return (ROOT / name).read_text() != text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
