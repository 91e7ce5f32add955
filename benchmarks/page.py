"""How long Python takes in the page, beside the same calls natively. Chapter: yours.

    python -m benchmarks.page [_build/html]

Chromium without a window opens the page `yours` from its folder (`make book SERVE=0` builds it): the first answer, with all that is
loaded for it, then each question several times, in the page and in this process in turn. Answers are compared, times are ratios.
"""

from __future__ import annotations

import argparse
import base64
import gc
import json
import pickle
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from helpers.memory.allocator import program, replay
from helpers.memory.snapshot import snapshot_of
from helpers.units import nbytes_text
from helpers.yours import page as yours
from tools import browser, needs

with needs.told():
    from playwright.sync_api import Page, sync_playwright

BUILT = Path(__file__).resolve().parent.parent / "_build" / "html"
ASK = """async ([text, base64, names]) => {
  await BytesInMotion.load("python.js");
  const bytes = base64 && [Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0))];
  const since = performance.now();
  const { value, error } = await BytesInMotion.python.ask("helpers.yours.page:verdict", bytes ?? text, null, names);
  return { ms: performance.now() - since, value, error };
}"""
STOP = """async () => {
  const { python } = BytesInMotion;
  const endless = python.ask("time:sleep", 1e6);
  await new Promise((begun) => python.watch(({ phase }) => phase === "busy" && begun()));
  const since = performance.now();
  python.stop();
  await endless;
  const stopped = performance.now() - since;
  await python.ask("json:dumps", 1);
  return [stopped, performance.now() - since];
}"""
HEADER = (
    "#                                          out-of-place\n# size count type redop root time algbw busbw #wrong\n"
)


def table() -> str:
    """What 8 GPUs print, made: 24 sizes."""
    rows = (f"{2**n} {2**n // 4} float sum -1 {20 + 2**n / 2e5:.2f} 0 0 0" for n in range(10, 34))
    return HEADER + "\n".join(rows)


def log(lines: int) -> str:
    """A log of NCCL, as long as asked."""
    line = "node1:71:80 [0] NCCL INFO Channel {:02} : 0[0] -> 1[1] via P2P/CUMEM"
    return "node1:71:71 [0] NCCL INFO NCCL version 2.30.7+cuda13.0\n" + "\n".join(
        line.format(k % 100) for k in range(lines)
    )


def snapshot(blocks: int) -> bytes:
    """A pickle of a memory snapshot with so many blocks."""
    held = "; ".join(f"t{k} = {1 + k % 7} MiB" for k in range(blocks))
    return pickle.dumps(snapshot_of(replay(program(held))))


def natively(given: str | list[bytes], names: list[str]) -> tuple[float, str]:
    """(milliseconds, answer)."""
    since = time.perf_counter()
    answer = yours.verdict(given, None, names)
    return 1e3 * (time.perf_counter() - since), answer


def in_page(page: Page, given: str | list[bytes], names: list[str]) -> tuple[float, str]:
    """The same in the page."""
    packed = None if isinstance(given, str) else base64.b64encode(given[0]).decode()
    found = page.evaluate(ASK, [given if packed is None else None, packed, names])
    return found["ms"], json.dumps(found["value"])


def memory() -> int:
    """Bytes of all processes below this one: proportional shares, so that what they share counts once."""
    return sum(child.memory_full_info().pss for child in psutil.Process().children(recursive=True))


def row(what: str, page: Page, given: str | list[bytes], again: int) -> None:
    """First answers, then the middle of several in turn; an answer that differs is an error."""
    names = [] if isinstance(given, str) else ["snapshot.pickle"]
    pairs = [(natively(given, names), in_page(page, given, names)) for _ in range(again)]
    for (_, native), (_, other) in pairs:
        if native != other:
            raise AssertionError(f"{what}: the page says {other[:200]}, Python {native[:200]}")
    native, other = ([one[side][0] for one in pairs] for side in (0, 1))
    middles = statistics.median(native), statistics.median(other)
    print(
        f"{what:40} {native[0]:8.0f} {other[0]:8.0f} {middles[0]:8.1f} {middles[1]:8.1f} {middles[1] / middles[0]:7.2f}"
    )


def report(page: Page, free: int) -> None:
    """Everything, printed."""
    first, _ = in_page(page, table(), [])
    print(f"first verdict, with all that is loaded for it: {first / 1e3:.1f} s; memory +{nbytes_text(memory() - free)}")
    stopped, again = page.evaluate(STOP)
    print(f"Stop: {stopped:.0f} ms; until the next answer: {again / 1e3:.1f} s")
    print(f"{'milliseconds':40} {'native':>8} {'page':>8} {'native':>8} {'page':>8} {'ratio':>7}")
    print(f"{'':40} {'first':>8} {'first':>8} {'middle':>8} {'middle':>8}")
    row("a table of 24 rows", page, table(), 15)
    row("a log of 500 lines", page, log(500), 15)
    row("a log of 200,000 lines", page, log(200_000), 1)
    large = snapshot(150_000)
    row(f"a snapshot of {nbytes_text(len(large))}", page, [large], 3)
    print(f"memory afterwards: +{nbytes_text(memory() - free)}")


def opened(html: Path, then: Callable[[Page, int], None]) -> None:
    """Run `then` on the page of the verdict; its argument beside the page is what the browser took before."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser.find(), args=browser.FLAGS)
        page = launched.new_page()
        page.set_default_timeout(300_000)
        page.goto((html / "book" / "yours.html").as_uri())
        page.wait_for_selector("[data-mounted]")
        gc.collect()
        then(page, memory())
        launched.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__.partition("\n")[0])
    parser.add_argument("html", nargs="?", type=Path, default=BUILT, help="the built site (_build/html)")
    opened(parser.parse_args().html, report)
