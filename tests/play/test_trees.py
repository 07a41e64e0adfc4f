"""Rallies of a kernel tree, played again: which tree it was, and folders that have its path.

No kernel with a second core is here. The recorded rallies of lab 6 are from one.
"""

import pytest

from tennis.bench.kernels import catalogue
from tennis.kit.checkout import ROOT
from tennis.kit.digests import sha256_of
from tennis.kit.errors import UsageError
from tennis.play.check import _first_difference
from tennis.play.repeat import changes, plan_again
from tennis.rally import open_rally
from tennis.report.picture_words import names
from tests.support.kernel_trees import kernel_tree
from tests.support.synthetic import saying

RECORDED = ROOT / "labs" / "06-out-of-band" / "recorded"


@pytest.fixture
def old():
    """A rally of before: its manifest has the tree's path, and its folder's name."""
    return open_rally(RECORDED / "evl-in-band-stress")


def test_an_old_folder_opens_and_says_who_answered(old):
    assert old.manifest.tool.versions["kernel"].startswith("/")
    assert old.manifest.target.stage == "in-band"
    assert old.label == "evl / stress / thread / chrt / in-band"
    other = open_rally(RECORDED / "evl-stress")
    assert other.manifest.target.stage == "out-of-band"
    assert names([old, other]) == ["evl, stress, chrt, in-band", "evl, stress, native"]


def test_another_tree_of_the_same_name_is_refused_before_it_is_played(old, tmp_path):
    """Image and configuration are compared, and no name."""
    tree = str(kernel_tree(tmp_path, "CONFIG_EVL", release=old.manifest.target.release))
    words = "its image and configuration .* are not of the kernel that .* name the tree"
    with pytest.raises(UsageError, match=words):
        plan_again(old, tree)


def test_the_tree_itself_is_taken_wherever_it_lies(old, tmp_path):
    tree = kernel_tree(tmp_path / "moved", "CONFIG_EVL", release=old.manifest.target.release)
    found = catalogue.find(str(tree))
    here = {
        "kernel_image_sha256": sha256_of(found.image),
        "kernel_config_sha256": sha256_of(found.config),
    }
    rally = with_versions(old, here)
    assert plan_again(rally, str(tree)).kernel == str(tree)
    config = tree / "include/config/auto.conf"
    config.write_text(config.read_text() + "CONFIG_MORE=y\n")
    with pytest.raises(UsageError, match=r"its configuration \(evl-5.10.0.*\) is not of the kern"):
        plan_again(rally, str(tree))


def with_versions(rally, update):
    return saying(rally, tool={"versions": rally.manifest.tool.versions | update})


def test_a_path_is_no_difference_and_a_name_of_today_is(old):
    """Every old folder of a tree would have been no rally any more."""
    versions = dict(old.manifest.tool.versions)
    named = {"kernel": "a built tree, evl-5.10.0-x", "kernel_name": "evl-5.10.0-x"}
    assert changes(old, versions | named) == []
    replayed = saying(old, target={"kernel": "evl-5.10.0-x"}).manifest
    assert _first_difference(old.manifest, replayed, []) == ""
    today = with_versions(old, named)
    assert changes(today, versions | named) == []
    assert changes(today, versions) == ["kernel", "kernel_name"]
    assert "its target kernel is evl, and was" in _first_difference(today.manifest, replayed, [])


def test_no_folder_chooses_the_tree_whose_makefile_is_run(old):
    """Somebody who plays a rally again, also to explain it, names the tree."""
    with pytest.raises(UsageError, match="name it with --kernel DIR"):
        plan_again(old)
