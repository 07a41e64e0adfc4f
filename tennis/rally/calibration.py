"""The trust in an instrument's figures, from its verification record."""

from datetime import UTC, datetime, timedelta

from tennis.rally.manifest import Instrument, VerificationRecord
from tennis.rally.text import plain

VALID_FOR = timedelta(days=30)


def doubt(instrument: Instrument, when: str) -> str:
    """Say why the instrument counts as not verified at ``when`` (ISO 8601); empty if it does.

    Only a Brickwall needs a verification record: the built-in instrument of the virtual bench is
    exact by construction.
    """
    if instrument.kind != "brickwall":
        return ""
    calibration = instrument.calibration
    if calibration is None:
        return "the Brickwall was never verified (tennis brickwall verify)"
    return _record_doubt(calibration, instrument, when)


def _record_doubt(record: VerificationRecord, instrument: Instrument, when: str) -> str:
    """Say why a record does not speak for an instrument at ``when``; empty if it does."""
    for differs, why in (
        (
            record.serial != instrument.serial,
            f"the verification record is that of Brickwall {plain(record.serial, 64)}",
        ),
        (
            record.firmware_sha256 != instrument.firmware_sha256,
            "the Brickwall was verified with other firmware (tennis brickwall verify)",
        ),
        (
            record.tick_hz != instrument.tick_hz,
            f"the Brickwall was verified with {record.tick_hz} Hz (tennis brickwall verify)",
        ),
        (
            record.verdict != "pass",
            f"the Brickwall's verification says {record.verdict}: {plain(record.reason)}",
        ),
    ):
        if differs:
            return why
    return _too_old(record, when)


def _too_old(record: VerificationRecord, when: str) -> str:
    try:
        age = _time(when) - _time(record.date)
    except ValueError:
        return "the verification record has no date (tennis brickwall verify)"
    if age > VALID_FOR:
        return f"the Brickwall was verified {age.days} days earlier (tennis brickwall verify)"
    # clocks may differ a little
    return "the verification record is younger than the rally" if age < -timedelta(days=1) else ""


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
