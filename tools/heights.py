"""How high the widgets and charts of the book are, for the room that its pages keep for them: writes website/heights.json.

`python -m tools.heights [PAGE...]` builds the book and opens its pages (all, or those named: book/ring) in Chromium. Wanted when a
change makes a widget higher or lower, or puts one on a page; the tests of pages say so.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools import browser, needs, progress
from website import heights

with needs.told():
    from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
ALIVE = """async () => {
    for (const mount of document.querySelectorAll(".bim-mount")) {
        mount.scrollIntoView({ block: "center", behavior: "instant" });
        while (!("mounted" in mount.dataset)) {
            if ("failed" in mount.dataset) throw new Error(`a ${mount.dataset.kind} failed`);
            await new Promise((next) => setTimeout(next, 10));
        }
    }
    await document.fonts.ready;
}"""
HEIGHTS = """async () => {
    for (let i = 0; i < 6; i++) await new Promise(requestAnimationFrame); // what follows its width is drawn again
    return [...document.querySelectorAll(".bim-mount")].map((mount) => mount.offsetHeight);
}"""


def build(out: Path) -> Path:
    """The folder with the book's pages, built from nothing."""
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ROOT, "--path-output", out, "--all"]
    progress.run("the book", [str(word) for word in command])
    return out / "_build" / "html"


def with_mounts(html: Path, asked: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Every page that holds mounts, of all or of those asked for, and their names."""
    for path in sorted(html.rglob("*.html")):
        name = path.relative_to(html).with_suffix("").as_posix()
        names = heights.mounts(path.read_text(encoding="utf-8"))
        if names and (not asked or name in asked):
            yield name, names


def measured(page: Page, address: str, names: list[str]) -> dict[str, list[int]]:
    """Name of a mount -> pixels at each of WIDTHS."""
    page.goto(address)
    page.evaluate(ALIVE)
    columns = []
    for width in heights.WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        columns.append(page.evaluate(HEIGHTS))
    return dict(zip(names, map(list, zip(*columns, strict=True)), strict=True))


def main(argv: list[str]) -> int:
    """Measure, and write what is new into the file; what other pages have stays when only some are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tools.heights", description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="book/ring", help="all where none is named")
    asked = parser.parse_args(argv).pages
    known = heights.heights() if asked else {}
    with tempfile.TemporaryDirectory(prefix="bim-") as folder, sync_playwright() as playwright:
        html = build(Path(folder))
        chromium = playwright.chromium.launch(executable_path=browser.find(), args=browser.FLAGS)
        page = chromium.new_page()
        for name, names in with_mounts(html, asked):
            known[name] = measured(page, (html / f"{name}.html").as_uri(), names)
            print(f"{name}: {len(names)}", flush=True)
        chromium.close()
    heights.PATH.write_text(text(known), encoding="utf-8")
    return 0


def text(known: dict[str, dict[str, list[int]]]) -> str:
    """One line a mount, so that a change shows what it changes."""
    pages = []
    for page, mounts in sorted(known.items()):
        lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(sizes)}" for name, sizes in mounts.items())
        pages.append(f"  {json.dumps(page)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(pages) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
