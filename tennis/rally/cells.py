"""Tables for spreadsheets and gradebooks, as CSV: no cell is a formula, and umlauts come out right.

Every table that leaves as CSV, and may hold somebody's words, is written here.

A spreadsheet takes a cell that begins with one of ``FORMULA`` for something to compute, and what a
student wrote could send others' marks away. It takes a file for UTF-8 only with a byte order mark;
Moodle takes the mark away (``csv_import_reader``), and Canvas looks for ``Student`` anywhere in the
first cell (``gradebook_importer.rb``).
"""

import csv
import io
from collections.abc import Iterable, Sequence

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_JOINERS = "\u200c\u200d"  # which some scripts, and emoji, are written with
NOTHING = "-"  # as platforms write that there is nothing


def begins_formula(cell: str) -> bool:
    """Tell whether a spreadsheet might compute a cell; it may look past spaces."""
    return cell.lstrip(" \u00a0").startswith(FORMULA) and cell.strip() != NOTHING


def words(cell: str) -> str:
    """Return words as a cell that nothing computes, in one line.

    A semicolon becomes a comma: many spreadsheets begin another cell there.
    """
    shown = "".join(c if c.isprintable() or c in _JOINERS else " " for c in cell)
    shown = shown.replace(";", ",")
    return f"'{shown}" if begins_formula(cell) or begins_formula(shown) else shown


def csv_of(rows: Iterable[Sequence[object]]) -> bytes:
    """Return a table as spreadsheets and platforms read it; a cell that begins a formula is words.

    Of a cell with foreign words ``words`` makes one that stays one cell.
    """
    text = io.StringIO()
    neutral = ([_neutral(cell) for cell in row] for row in rows)
    csv.writer(text, lineterminator="\r\n").writerows(neutral)
    return text.getvalue().encode("utf-8-sig")


def _neutral(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and begins_formula(cell) else cell
