# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Whether an instrument's figures may be believed: what its certificate is worth."""

from datetime import UTC, datetime, timedelta

from tennis.rally.manifest import Instrument, VerificationRecord
from tennis.rally.text import plain

VALID_FOR = timedelta(days=30)


def doubt(instrument: Instrument, when: str) -> str:
    """Say why the instrument counts as not verified at ``when`` (ISO 8601); empty where it does.

    Only a Brickwall needs a certificate: the built-in instrument of the virtual bench is exact by
    construction.
    """
    if instrument.kind != "brickwall":
        return ""
    found = instrument.calibration
    if found is None:
        return "the Brickwall was never verified (tennis verify)"
    return certificate_doubt(found, instrument, when)


def certificate_doubt(certificate: VerificationRecord, instrument: Instrument, when: str) -> str:
    """Say why a certificate does not speak for an instrument at ``when``; empty where it does."""
    said = certificate
    for differs, why in (
        (
            said.serial != instrument.serial,
            f"the certificate is that of Brickwall {plain(said.serial, 64)}",
        ),
        (
            said.firmware_sha256 != instrument.firmware_sha256,
            "the Brickwall was verified with other firmware (tennis verify)",
        ),
        (
            said.tick_hz != instrument.tick_hz,
            f"the Brickwall was verified with {said.tick_hz} ticks a second (tennis verify)",
        ),
        (
            said.verdict != "pass",
            f"the Brickwall's verification says {said.verdict}: {plain(said.reason)}",
        ),
    ):
        if differs:
            return why
    return _too_old(said, when)


def _too_old(certificate: VerificationRecord, when: str) -> str:
    try:
        age = _time(when) - _time(certificate.date)
    except ValueError:
        return "the certificate has no date (tennis verify)"
    if age > VALID_FOR:
        return f"the Brickwall was verified {age.days} days earlier (tennis verify)"
    # clocks may differ a little
    return "the certificate is younger than the rally" if age < -timedelta(days=1) else ""


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
