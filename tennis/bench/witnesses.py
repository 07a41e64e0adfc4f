"""The witness, a program inside the target: the script ``target/witness`` and what it needs."""

from tennis.kit.checkout import ROOT
from tennis.kit.digests import sha256_of
from tennis.rally.manifest import Witness

SCRIPT = ROOT / "target" / "witness"
OPTIONS: dict[Witness, str] = {
    "cyclictest": "CONFIG_FTRACE",
    "timerlat": "CONFIG_TIMERLAT_TRACER",
    "osnoise": "CONFIG_OSNOISE_TRACER",
}


def packages(witness: Witness) -> list[str]:
    """Return the Debian packages that a witness needs on the target."""
    return ["rt-tests"] if witness == "cyclictest" else []


def versions(witness: Witness) -> dict[str, str]:
    """Return what must stay the same while a rally is played."""
    if witness == "none":
        return {}
    return {"witness_sha256": sha256_of(SCRIPT)}
