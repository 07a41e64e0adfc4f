"""Rally folders: sealed once, validated whenever they are opened."""

from tennis.rally.folder import Rally
from tennis.rally.in_play import part_path
from tennis.rally.manifest import Manifest
from tennis.rally.opening import open_folder, open_rally
from tennis.rally.sealing import finished, seal
from tennis.rally.tally import Tally

__all__ = [
    "Manifest",
    "Rally",
    "Tally",
    "finished",
    "open_folder",
    "open_rally",
    "part_path",
    "seal",
]
