"""The memory widget live: events lost, backlog and frames per second in a real JupyterLab and Chromium. Chapter: training-memory.

    python -m benchmarks.live_memory [--rate 800] [--rounds 2]

A kernel feeds the recorded step of the article twice, `rate` events a second; the page counts frames and notes when the last event came.
Backlog: from the kernel's last event to the page's. A frame that takes over 50 ms is long.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

import nbformat

from benchmarks.samples import at_least
from tools import needs
from tools.browser import FLAGS, find

with needs.told():
    from playwright.sync_api import Error, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
CELLS = (
    "import time\nfrom helpers.view import memory\nfrom helpers.view.memory.spec import recorded_set, traces_of\n"
    "events = traces_of(recorded_set('article-cpu'))[0].events",
    "m = memory(live=True)\nm",
    "time.sleep(2)  # the widget draws its first frame\n"
    "start = time.time()\n"
    "for n in range({total}):\n"
    "    event = events[n % len(events)]\n"
    "    m.feed(event._replace(block=event.block + 10**6 * (n // len(events)) if event.block >= 0 else -1))\n"
    "    time.sleep(max(0, start + (n + 1) / {rate} - time.time()))\n"
    "ended = time.time()\n"
    "print('fed', start, ended)",
)
# Frames are counted from the first event to the last; the clock is the kernel's own.
WATCH = """total => {
  const state = { frames: [], done: 0, first: 0 };
  window.watched = state;
  function look() {
    const feed = document.querySelector(".bim-mt").memory.feed;
    if (feed.received) {
      state.first ||= Date.now();
      state.frames.push(performance.now());
    }
    Object.assign(state, { received: feed.received, asked: feed.asked });
    if (feed.received >= total) state.done = Date.now();
    else requestAnimationFrame(look);
  }
  requestAnimationFrame(look);
}"""


class Seen(NamedTuple):
    """One run: events fed and received, batches asked for again, events a second in the kernel, backlog in s, frames."""

    fed: int
    received: int
    asked: int
    rate: float
    backlog: float
    fps: float
    p95: float
    long: int

    def __str__(self) -> str:
        lost = self.fed - self.received
        return (
            f"{self.fed:,} events at {self.rate:,.0f} a second: {lost} lost, {self.asked} gaps asked for, "
            f"backlog {self.backlog * 1e3:.0f} ms; "
            f"{self.fps:.1f} frames a second, 95 in 100 within {self.p95 * 1e3:.0f} ms, {self.long} long"
        )


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab of our own on the folder; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    private = {name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--IdentityProvider.token=",
        f"--ServerApp.root_dir={folder}",
    ]
    command = [sys.executable, "-m", "jupyterlab", *options]
    env = os.environ | private | {"PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def write_notebook(path: Path, total: int, rate: int) -> None:
    """The three cells."""
    cells = [nbformat.v4.new_code_cell(cell.format(total=total, rate=rate)) for cell in CELLS]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)


def opened(page: Page, address: str) -> None:
    """Once the server answers, the notebook is on show and every cell is run."""
    deadline = time.monotonic() + 90
    while True:
        try:
            page.goto(address)
            break
        except Error:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    # Whoever presses earlier is asked for a kernel, by a dialog that lies over the page.
    page.locator("#jp-main-statusbar").get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=90_000)
    page.get_by_text("Run", exact=True).first.click()
    page.get_by_text("Run All Cells", exact=True).click()


def measure(rate: int = 800, total: int = 3710) -> Seen:
    """One run. ValueError for settings that measure nothing."""
    at_least("rate", rate, 1)
    at_least("total", total, 2)
    with tempfile.TemporaryDirectory() as name, jupyterlab(Path(name)) as address, sync_playwright() as playwright:
        write_notebook(Path(name, "live.ipynb"), total, rate)
        browser = playwright.chromium.launch(executable_path=find(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        opened(page, f"{address}/lab/tree/live.ipynb")
        page.locator(".bim-mt").wait_for(timeout=60_000)
        page.evaluate(WATCH, total)
        page.wait_for_function("watched.done", timeout=120_000)
        page.get_by_text("fed ").last.wait_for()
        start, ended = map(float, page.get_by_text("fed ").last.inner_text().split()[1:3])
        seen = page.evaluate("watched")
        browser.close()
    gaps = [(b - a) / 1e3 for a, b in zip(seen["frames"], seen["frames"][1:], strict=False)]
    backlog = seen["done"] / 1e3 - ended
    rates = (
        total / (ended - start),
        backlog,
        len(gaps) / sum(gaps),
        quantiles(gaps, n=20)[-1],
        sum(gap > 0.05 for gap in gaps),
    )
    return Seen(total, seen["received"], seen["asked"], *rates)


def arguments(given: list[str]) -> argparse.Namespace:
    """The settings of main."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=2)
    return parser.parse_args(given)


def main(rate: int = 800, rounds: int = 2) -> None:
    """Print a line per round, at the rate and at twice the rate."""
    at_least("rate", rate, 1)
    at_least("rounds", rounds, 1)
    for wanted in (rate, 2 * rate):
        for _ in range(rounds):
            print(measure(wanted))


if __name__ == "__main__":
    main(**vars(arguments(sys.argv[1:])))
