"""manifest.json: numbers that make sense, and no contradictions."""

import json

import pytest
from pydantic import ValidationError

from tennis.rally.manifest import Manifest, Protocol
from tests.support.synthetic import manifest


def changed(part, **update):
    """Return a manifest's JSON with changes in one of its parts."""
    content = manifest(balls=3).model_dump(mode="json")
    (content[part] if part else content).update(update)
    return json.dumps(content)


def refused(part, **update):
    """Return the words with which a manifest with these changes is refused."""
    with pytest.raises(ValidationError) as error:
        Manifest.model_validate_json(changed(part, **update))
    first = error.value.errors()[0]
    return f"{first['loc'][-1]} {first['msg']}"


@pytest.mark.parametrize("key", ["gap_min_ns", "gap_max_ns", "pulse_ns", "timeout_ns", "settle_ns"])
@pytest.mark.parametrize("value", [-1, 10**15 + 1, 10**400])
def test_times_have_bounds(key, value):
    assert refused("protocol", **{key: value}).startswith(key)


@pytest.mark.parametrize("rate", [0, -1, 1e-300, 1e300, 10**400, float("inf"), float("nan")])
def test_rates_have_bounds(rate):
    assert refused("protocol", loop="open", rate_hz=rate).startswith("rate_hz")


def test_an_open_loop_has_a_rate():
    assert "open loop" in refused("protocol", loop="open")
    assert "open loop" in refused("protocol", rate_hz=1000.0)
    text = changed("protocol", loop="open", rate_hz=1000)
    assert Manifest.model_validate_json(text).protocol.rate_hz == 1000
    with pytest.raises(ValidationError):
        Protocol.model_validate_json("{}")


def test_a_fault_makes_a_rally_suspect():
    fault = {"code": "x", "message": "y"}
    assert refused("", faults=[fault]) == "suspect is false, but there was a fault"
    assert refused("", ended="fault") == "suspect is false, but there was a fault"
    text = changed("", ended="fault", faults=[fault], suspect=True)
    assert Manifest.model_validate_json(text).suspect


@pytest.mark.parametrize("tainted", [True, False])
def test_a_folder_of_the_first_release_says_tainted(tainted):
    content = manifest(balls=3).model_dump(mode="json")
    del content["suspect"]
    opened = Manifest.model_validate_json(json.dumps(content | {"tainted": tainted}))
    assert opened.suspect is tainted
    assert '"suspect"' in opened.model_dump_json()
    # both words in one file are not something that tennis wrote
    with pytest.raises(ValidationError, match="tainted"):
        Manifest.model_validate_json(changed("", tainted=tainted))
    fault = {"code": "x", "message": "y"}
    with pytest.raises(ValidationError, match="is false, but there was a fault"):
        Manifest.model_validate_json(json.dumps(content | {"tainted": False, "faults": [fault]}))


def test_a_threaded_top_half_is_read_as_forced():
    opened = Manifest.model_validate_json(changed("target", top_half="threaded"))
    assert opened.target.top_half == "forced"
    assert "'hard', 'forced', 'explicit'" in refused("target", top_half="threads")
