"""Rallies that differ in one setting, for all tests that alter it."""

from pathlib import Path

import pytest

from tests.support.one_setting import make_altered


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where they are."""
    return make_altered(tmp_path_factory.mktemp("one-setting"))
