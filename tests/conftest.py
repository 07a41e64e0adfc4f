# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What all tests share."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what boots kernels last, so that quick failures come quickly."""
    items.sort(key=lambda item: item.get_closest_marker("virtual") is not None)
