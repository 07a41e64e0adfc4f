"""The umpire: a logic analyser's capture of the same two wires, compared with the rally."""

from tennis.rally.captures.capture import open_capture
from tennis.rally.captures.channels import Wires
from tennis.rally.captures.edges import Capture, CaptureError
from tennis.report.umpire.agreement.check import check_capture
from tennis.report.umpire.agreement.result import Check

__all__ = ["Capture", "CaptureError", "Check", "Wires", "check_capture", "open_capture"]
