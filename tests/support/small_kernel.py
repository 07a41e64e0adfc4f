"""A configuration of Linux that builds in minutes."""

from tennis.kit.checkout import ROOT

SMALL = ROOT / "target/kernels/small.config"
