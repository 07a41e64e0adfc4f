"""The umpire: what a logic analyser saw on the same two wires, held against the rally."""

from tennis.umpire.capture import open_capture
from tennis.umpire.check import check
from tennis.umpire.edges import Capture, CaptureError
from tennis.umpire.result import Check
from tennis.umpire.wires import Wires

__all__ = ["Capture", "CaptureError", "Check", "Wires", "check", "open_capture"]
