"""The page around the text: own templates instead of a theme's, and only the files that a page needs."""

import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from helpers.view.shared.tokens import css as tokens_css
from helpers.view.widgets import line, mounted
from website.cells import with_cells
from website.chapters import listed, parts
from website.heights import heights, with_rooms
from website.scripts import write
from website.widgets import styles

SHORT = 24  # letters of code or of a formula's TeX that stay in one line also on a telephone
SHORT_IN_A_CELL = 12  # and of code in a table, whose last column shall be in view
CODE = r'<code class="([^"]*)">((?:<span class="pre">[^<]*</span>\s*)+)</code>'
TABLE_OR_CODE = re.compile(rf"<table\b.*?</table>|{CODE}", re.DOTALL)
JOINT = re.compile(r"(?<=[_./=:,(])(?=\w)")  # where a name may go on in the next line
COLUMNS = re.compile(r"\S {3,}\S")  # what pads a column, not what ends a sentence
PRINTED = re.compile(r'(<div class="output (?:stream|text_plain)[^>]*>.*?<pre)>(.*?)</pre>', re.DOTALL)
log = logging.getLogger(__name__)

STYLES = ("tokens.css", "fonts.css", "frame.css", "course.css", "code.css", "print.css")
SCRIPTS = ("frame.js", "suggest.js", "landing.js", "print.js")
# A page carries a style only where its text holds the mark beside it.
STYLES_FOR = {
    'class="katex': ("vendor/katex/katex.min.css",),
    'class="sd-': ("sphinx-design.min.css",),
    'class="bim-predict"': ("widgets/language.css", "guess/predict.css"),
    'class="bim-guessed"': ("guess/predict.css", "guess/kept.css"),
    **dict.fromkeys(('data-cell="', 'class="bim-lacks"'), ("cells/cells.css",)),
    'class="bim-map"': ("map/map.css", "map/run.css"),
    'class="bim-here"': ("map/here.css",),
    'class="bim-sketch"': (*styles(line("player"))[:-1], "sketch/sketch.css"),  # in the player's colours and shapes
    **{f'data-kind="{widget.name}"': styles(widget) for widget in mounted()},
}
# These stand before frame.js, which lets the page be seen: an answer that is open because it was guessed before moves nothing.
SCRIPTS_FOR = {
    'class="sd-tab-set': ("design-tabs.js",),
    'class="bim-predict"': ("guess/guesses.js", "guess/predict.js", "guess/waiting.js"),
    'class="bim-guessed"': ("guess/guesses.js", "guess/calibration.js", "guess/kept.js"),
    'class="bim-sketch"': ("sketch/sketch.js",),
    'class="bim-map"': ("map/map.js", "map/run.js"),
    'data-cell="': ("cells/buttons.js",),
    'class="bim-recorded': ("sources.js",),
    'class="bim-fact': ("sources.js",),
}


def style_page(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Hand the layout its styles, scripts, chapters and description, and mend the text's HTML."""
    body = context.get("body", "")
    body = with_cells(mend(body), Path(app.srcdir, pagename))
    context["body"] = with_rooms(body, heights().get(pagename, {}))
    context["bim_styles"] = [*STYLES, *needed(body, STYLES_FOR)]
    news = ["changes.js"] if pagename == app.config.root_doc else []
    context["bim_scripts"] = ["shim.js", "back.js", *news, *needed(body, SCRIPTS_FOR), *SCRIPTS]
    context["bim_chapters"] = listed(parts(app.env), pagename, context["pathto"])
    context["bim_contents"] = contents(context.get("toc", ""))
    context["bim_author"] = app.config.author
    context["bim_home"] = app.env.titles[app.config.root_doc].astext()
    context["bim_description"] = description(app, pagename, doctree)


def needed(body: str, files: dict[str, tuple[str, ...]]) -> list[str]:
    """Every file whose mark occurs in the page's text, once."""
    return list(dict.fromkeys(name for mark, names in files.items() if mark in body for name in names))


def mend(body: str) -> str:
    """Repair what writers leave behind: names that differ from the visible text, and tables that cannot scroll."""
    body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")
    body = body.replace(
        '<a class="headerlink"', '<a class="headerlink" aria-hidden="true" tabindex="-1"'
    )  # the list beside the page has them
    body = PRINTED.sub(in_columns, body)
    return TABLE_OR_CODE.sub(lambda found: whole(found) if found[1] else sideways(found[0]), body)


def sideways(table: str) -> str:
    """A table that may scroll, though its code breaks at joints."""
    return f'<div class="bim-sideways">{re.sub(CODE, lambda code: whole(code, SHORT_IN_A_CELL), table)}</div>'


def in_columns(output: re.Match) -> str:
    """What is printed in columns keeps them, and scrolls where it is too wide; a sentence wraps."""
    text = re.sub(r"<[^>]*>", "", output[2])
    return f'{output[1]} class="bim-columns">{output[2]}</pre>' if COLUMNS.search(text) else output[0]


def whole(code: re.Match, short: int = SHORT) -> str:
    """Short code is not broken: `2(P - 1)`; a longer one breaks at its joints."""
    letters = len(html.unescape(re.sub(r"<[^>]*>", "", code[2])))
    if letters <= short:
        return f'<code class="{code[1]} bim-unbroken">{code[2]}</code>'
    jointed = re.sub(r">[^<]+<", lambda text: JOINT.sub("<wbr>", text[0]), code[2])
    return f'<code class="{code[1]}">{jointed}</code>'


def contents(toc: str) -> str:
    """The list inside the page's own table of contents: the title itself is left out."""
    inner = re.search(r"<ul>.*?(<ul>.*</ul>)\s*</li>\s*</ul>", toc, flags=re.DOTALL)
    return inner.group(1) if inner else ""


def description(app: Sphinx, pagename: str, doctree: nodes.document | None) -> str:
    """The page's `description` from its front matter; a page of the book without one is a warning."""
    text = app.env.metadata.get(pagename, {}).get("description", "")
    if doctree is not None and not text:
        log.warning("front matter needs a `description` of one sentence", location=pagename, type="bim", subtype="card")
    return text


def write_tokens(app: Sphinx, exception: Exception | None) -> None:
    """The design tokens as one style sheet, the same that widgets and charts read."""
    write(app, exception, {"tokens.css": tokens_css()})


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the theme, which is ours alone and inherits nothing."""
    app.add_html_theme("bytes_in_motion", str(Path(__file__).with_name("theme")))
    app.connect("html-page-context", style_page, priority=900)
    app.connect("build-finished", write_tokens)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
