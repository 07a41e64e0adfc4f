"""A rally whose late balls have a known cause."""

import pytest

from tennis.rally import Rally, open_rally
from tests.support.shared import made_once
from tests.support.virtual import played


@pytest.fixture(scope="module")
def hog(tmp_path_factory: pytest.TempPathFactory) -> Rally:
    """Return a rally under the load whose answer is known."""
    made = made_once(
        tmp_path_factory, "hog", lambda folder: played(folder / "hog", load="hog", balls=500)
    )
    return open_rally(made / "hog")
