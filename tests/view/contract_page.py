"""A folder as the site has it, without a book: the shim, the widgets' files, and a page with one mount of each kind that is asked for."""

from __future__ import annotations

from pathlib import Path

from widget_harness import FONT

from helpers.view.shared.tokens import css
from website.python import python_files
from website.widgets import styles

ROOT = Path(__file__).parents[2]


def write_static(folder: Path, files: dict[str, str]) -> None:
    """The shim and the files that it may load, under folder/_static."""
    shim = (ROOT / "assets" / "shim.js").read_text(encoding="utf-8")
    for name, text in {**files, "shim.js": shim}.items():
        path = folder / "_static" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def python_scripts() -> dict[str, str]:
    """What a page loads when Python is asked."""
    return {**python_files(), "python.js": (ROOT / "assets" / "python.js").read_text(encoding="utf-8")}


def write_page(folder: Path, widget, mount: str) -> str:
    """A page with that mount; its address."""
    sheets = "".join(f'<link rel="stylesheet" href="_static/{name}">' for name in styles(widget))
    path = folder / f"{widget.name}.html"
    path.write_text(
        f"""<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>{widget.name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{FONT}{css()}
body {{ margin: 0 auto; padding: 16px; max-width: 880px; }}</style>{sheets}</head>
<body><main><h1>{widget.name}</h1>{mount}<p id="below">What follows.</p></main><script src="_static/shim.js"></script></body></html>""",
        encoding="utf-8",
    )
    return path.as_uri()
