"""The edition of the virtual bench: the number of its bytes.

The same seed gives the same bytes on benches of one edition, with the same kernel, QEMU and
programs of Debian's. A commit that changes any byte of any rally raises it:
``tests/reference`` has the digests of small rallies, and fails until then. ``docs/versions.md``
says what each edition changed.
"""

from tennis import __version__

EDITION = 1  # 0: rallies that do not say one, of Tennis up to 0.2.0
UNRECORDED = 0
KEY = "edition"  # among the versions of a rally

# the version on which bytes may depend, without a commit (PEP 440): hashes cover the rest
PUBLIC_VERSION = __version__.partition("+")[0]
# what plays and what writes a page, as `tennis --version` and pages say it
VERSION = f"{__version__}, edition {EDITION}"
