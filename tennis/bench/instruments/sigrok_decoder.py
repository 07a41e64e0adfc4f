"""The umpire's protocol decoder, installed for sigrok-cli and PulseView."""

import os
import shutil
from pathlib import Path

from tennis.bench.instruments.sigrok import ANSWER_S, find_program
from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, RallyError
from tennis.rally.disk import writing

DECODER = ROOT / "umpire" / "decoder" / "tennis"


def _decoders_folder() -> Path:
    """Return libsigrokdecode's folder of the user's decoders."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "libsigrokdecode" / "decoders"


def install() -> Path:
    """Copy the protocol decoder to the user's, check that sigrok finds it; return its folder.

    Raises BenchError, RallyError.
    """
    find_program()
    folder = _decoders_folder() / "tennis"
    with writing(folder):
        if folder.is_symlink() or folder.is_file():
            raise RallyError(f"{folder} is not a folder", next_step="remove it, and install again")
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(DECODER.glob("*.py")):
            shutil.copyfile(source, folder / source.name)
    words = [find_program(), "-P", "tennis", "--show"]
    done = environment.completed(words, environment.for_sigrok(), timeout=ANSWER_S)
    if done.returncode or "ID: tennis" not in done.stdout:
        why = (done.stderr or done.stdout).strip().splitlines()
        raise BenchError(
            f"sigrok-cli does not see the decoder in {folder} ({why[0] if why else 'no reason'}): "
            "is SIGROKDECODE_DIR set, or is it older than 0.7?"
        )
    return folder
