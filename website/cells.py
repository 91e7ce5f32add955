"""Code that runs where it stands: each Python block of a page gets its number and what it needs first, or says what the page lacks.

Which block does what is website/blocks.py's to say; the buttons and what they do are assets/cells.
"""

import html
import re
from pathlib import Path

import minify
from sphinx.application import Sphinx

from helpers.view.shared.bundle import plain_script
from helpers.view.widgets import SHARED, mounted
from website.blocks import Block, blocks
from website.scripts import call, write
from website.widgets import styles

SHOWN = re.compile(r'(<div class="highlight-i?python3? notranslate")>(.*?<pre>(.*?)</pre></div>\n)</div>', re.DOTALL)
LOADING = SHARED / "page" / "python.mjs"
SUFFIXES = (".ipynb", ".md")
FRAGMENT = "a name: "  # what it is about stands in the text around it


def with_cells(body: str, page: Path) -> str:
    """The text of a page (its path without suffix), each of its Python blocks marked."""
    source = next((path for suffix in SUFFIXES if (path := page.with_name(page.name + suffix)).is_file()), None)
    rest = blocks(source) if source else []

    def with_mark(shown: re.Match) -> str:
        code = html.unescape(re.sub(r"<[^>]*>", "", shown[3])).split()
        block = next((one for one in rest if one.source.split() == code), None)
        if block is None:
            return shown[0]
        rest.remove(block)
        return marked(block, shown[1], shown[2])

    return SHOWN.sub(with_mark, body)


def marked(block: Block, start: str, inside: str) -> str:
    """The block: one that runs carries its number and the numbers of those before it; another one says what it lacks."""
    if block.runs:
        needs = f' data-needs="{" ".join(map(str, block.needs))}"' if block.needs else ""
        return f'{start} data-cell="{block.number}"{needs}>{inside}</div>'
    if block.why.startswith(FRAGMENT):
        return f"{start}>{inside}</div>"
    told = "what it gave stands below" if block.output or block.bundles else "it runs where the course is installed"
    return f'{start}>{inside}<p class="bim-lacks">Needs {html.escape(block.why)}: {told}</p></div>'


def write_parts(app: Sphinx, exception: Exception | None) -> None:
    """What a page says while Python comes, and the sheets of each kind of widget: a block may show one that its page did not have."""
    come = minify.string("application/javascript", plain_script(LOADING, "loading"))
    sheets = call("cellOutput.sheets", {widget.name: styles(widget) for widget in mounted()})
    write(app, exception, {"cells/loading.js": come, "cells/sheets.js": sheets})


def setup(app: Sphinx) -> dict[str, bool]:
    """Once the pages are written; theme.py marks the blocks."""
    app.connect("build-finished", write_parts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
