"""The umpire: what a logic analyser saw on the same two wires, held against the rally."""

from tennis.umpire.agreement.check import check_capture
from tennis.umpire.agreement.result import Check
from tennis.umpire.captures.capture import open_capture
from tennis.umpire.captures.channels import Wires
from tennis.umpire.captures.edges import Capture, CaptureError

__all__ = ["Capture", "CaptureError", "Check", "Wires", "check_capture", "open_capture"]
