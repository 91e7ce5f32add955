"""One walk through a real JupyterLab: run cells, see a long one's line come and go, step the player, save, and read what is saved."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

from tools.notebooks import KERNEL

READY = 60  # seconds until the server answers, and until a cell has run: guards against a hang
ERROR = "[data-mime-type='application/vnd.jupyter.error']"
CELL = """from helpers import meanwhile
from helpers.view.player.widget import player
meanwhile.attend()
player('all_reduce ring', nranks=3, nbytes='3 MiB')"""
LONG = """import time
meanwhile.line.AFTER = 0.2
with meanwhile.aloud("waiting for nothing"):
    time.sleep(4)"""


@pytest.fixture
def lab(tmp_path):
    """A JupyterLab on a folder with one notebook; gives its address. Its settings and its runtime files are its own."""
    cells = [nbformat.v4.new_markdown_cell("# Smoke"), *map(nbformat.v4.new_code_cell, (CELL, LONG))]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "smoke.ipynb").write_text(nbformat.writes(notebook))
    token = secrets.token_hex(16)
    own = {f"JUPYTER_{kind}_DIR": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", "--port=0", str(tmp_path / "labs")]
    command += ["--allow-root"] if os.geteuid() == 0 else []
    environment = {**os.environ, **own, "JUPYTER_TOKEN": token, "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path)}
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield f"{address(tmp_path, server)}lab/tree/smoke.ipynb?token={token}"
    finally:
        server.terminate()
        server.wait(timeout=READY)


def address(folder: Path, server: subprocess.Popen) -> str:
    """Where the server says that it listens, once it answers there."""
    end = time.monotonic() + READY
    while time.monotonic() < end and server.poll() is None:
        for found in (folder / "runtime").glob("jpserver-*.json"):
            url = json.loads(found.read_text() or "{}").get("url")
            if url and answers(url):
                return url
        time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not start:\n{(folder / 'log').read_text()[-3000:]}")


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}api", timeout=5) as reply:
            return reply.status == 200
    except OSError:
        return False


def outside(request) -> bool:
    """Whether a request would leave this machine."""
    return not request.url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))


def saved(page, path: Path) -> list[list]:
    """The outputs of the code cells, as JupyterLab writes them to the file."""
    page.keyboard.press("Control+s")
    end = time.monotonic() + READY
    while time.monotonic() < end:
        with contextlib.suppress(ValueError):  # it is being written
            outputs = [cell.outputs for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
            if outputs[0]:
                return outputs
        time.sleep(0.1)
    raise AssertionError("nothing was saved")


def test_a_cell_runs_and_its_widget_steps(lab, browser, tmp_path):
    assert lab.startswith("http://127.0.0.1:")
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(READY * 1000)
        asked = []
        page.on("request", lambda request: asked.append(request.url) if outside(request) else None)
        page.goto(lab)
        # Only now is the kernel there; a cell run earlier opens a dialog that asks for one.
        page.locator("#jp-main-statusbar").get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.locator(f".jp-OutputArea :is(.bim-sentence, {ERROR})").first.wait_for()
        assert page.locator(ERROR).all_inner_texts() == []
        page.get_by_text("waiting for nothing, 1 s", exact=True).wait_for()
        page.get_by_text("waiting for nothing,").wait_for(state="detached")
        before = page.locator(".jp-OutputArea .bim-sentence").inner_text()
        page.locator(".jp-OutputArea").get_by_role("button", name="Step forward").click()
        page.wait_for_function("before => document.querySelector('.bim-sentence').innerText !== before", arg=before)
        # Another schedule comes from Python: five ranks in a ring take 2(P-1) = 8 steps.
        page.locator(".jp-OutputArea").get_by_role("combobox", name="Number of ranks").select_option("5")
        page.wait_for_function("() => document.querySelector('.bim-range').max === '8'")
        if folder := os.environ.get("BIM_SCREENSHOTS"):
            page.screenshot(path=f"{folder}/lab.png")
        player, waited = saved(page, tmp_path / "labs" / "smoke.ipynb")
        # JupyterLab may have asked the kernel something meanwhile: then an empty output stays, since it might not be the line's alone
        assert len(player) == 1 and "".join(output.text for output in waited) == "", "the line of a long cell is saved"
    assert asked == [], "JupyterLab with our widget asked another host"
