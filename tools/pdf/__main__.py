"""`make pdf`: the whole book in one file, drawn by Chromium page after page and joined.

`python -m tools.pdf [FOLDER] [--book FOLDER] [--out FILE]`: FOLDER holds the built pages, --book the _toc.yml with their order.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools import browser, needs
from tools.pdf.chapters import Leaf, Printed, leaves, printed
from tools.serve import make_server

with needs.told():
    from playwright.sync_api import sync_playwright

    from tools.pdf.joining import count, joined


def shown(chapters: Iterable[Printed], pages: list[Leaf]) -> Iterator[Printed]:
    """The same, with a line for each on the way."""
    for i, one in enumerate(chapters, 1):
        print(f"{i} of {len(pages)}: {one.title}", flush=True)
        yield one


def print_book(built: Path, book: Path, out: Path) -> int:
    """Writes the file and tells how many sheets it has."""
    pages = leaves(book)
    with make_server(built, port=0) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}"
        chromium = playwright.chromium.launch(executable_path=browser.find(), args=browser.FLAGS)
        whole = joined(shown(printed(chromium, home, pages, count), pages), home)
        chromium.close()
        server.shutdown()
    whole.write(out)
    return len(whole.pages)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("built", nargs="?", type=Path, default=Path("_build/html"), metavar="FOLDER")
    parser.add_argument("--book", type=Path, default=Path())
    parser.add_argument("--out", type=Path, default=Path("_build/bytes-in-motion.pdf"))
    options = parser.parse_args(argv)
    try:
        sheets = print_book(options.built.resolve(), options.book, options.out)
    except (OSError, browser.NoBrowser) as error:
        print(f"pdf: {error}", file=sys.stderr)
        return 1
    print(f"{options.out}: {sheets} pages, {options.out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
