"""JupyterLab in a real Chromium, as a student has it: open, run all, save, hand in."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import jupytext
import pytest
from playwright.sync_api import sync_playwright

from tennis.course import load_lab
from tests.support.hand_ins import make_work
from tests.support.processes import run_to_end

pytestmark = pytest.mark.slow

LAB = load_lab("04-under-load")
TENNIS = str(Path(sys.executable).with_name("tennis"))
WORDS = "My own words, typed into the notebook."
RUNNING = ".jp-InputArea-prompt:has-text('[*]')"


def until(what, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.2)


@pytest.fixture
def served(tmp_path):
    """Serve a student's folder; yield it, and the address with its token."""
    folder = make_work(tmp_path / "lab-04", LAB, "Ada")
    log = tmp_path / "log"
    with log.open("w") as said:
        process = subprocess.Popen(
            [TENNIS, "lab", "open", "04", "--no-browser"],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path), "TENNIS_CACHE": str(tmp_path / "cache")},
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        until(lambda: "token=" in log.read_text() or process.poll() is not None)
        address = re.search(r"http://127\S+", log.read_text())
        assert address, log.read_text()
        yield folder, address[0]
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def test_open_run_save_hand_in(served, tmp_path):
    folder, address = served
    before = (folder / "notebook.md").read_text()
    elsewhere: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:"))
                else elsewhere.append(request.url)
            ),
        )
        page.goto(address, timeout=120_000)
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=120_000)
        page.wait_for_selector("text=Python 3 (ipykernel) | Idle", timeout=240_000)
        page.click("text=Run >> nth=0")
        page.click("text=Run All Cells")
        outputs = page.locator(".jp-OutputArea-output")
        try:
            until(lambda: outputs.count() > 8 and not page.locator(RUNNING).count(), 300)
        except AssertionError as error:
            page.screenshot(path=tmp_path / "late.png")
            shown = " | ".join(outputs.all_inner_texts())
            prompts = page.locator(".jp-InputArea-prompt").all_inner_texts()
            raise AssertionError(f"{outputs.count()} outputs; {prompts}; {shown}") from error
        assert page.locator(".jp-OutputArea-output img").count() >= 1
        assert not page.locator(".jp-OutputArea-output[data-mime-type$='stderr']").count()
        page.keyboard.press("Escape")
        page.keyboard.press("b")  # a cell of one's own
        page.keyboard.press("Enter")
        page.keyboard.type(f"# {WORDS}")
        page.keyboard.press("Control+s")
        until(lambda: WORDS in (folder / "notebook.md").read_text())
        assert not page.get_by_text("get notified about official").count()
        browser.close()
    assert elsewhere == []
    after = (folder / "notebook.md").read_text()
    assert "image/png" not in after  # text without outputs
    assert (
        len(jupytext.reads(after, "md:myst").cells)
        == len(jupytext.reads(before, "md:myst").cells) + 1
    )
    done = run_to_end([TENNIS, "lab", "submit", "04"], cwd=tmp_path)
    # the two numbers of one's own rallies are wrong here, and that refuses nothing
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "04-under-load-ada.zip") as archive:
        assert WORDS in archive.read("notebook.md").decode()
