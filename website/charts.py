"""The colours of charts in both themes, for the shim: a figure is saved once, and the page draws it light or dark."""

from sphinx.application import Sphinx

from helpers.view.shared.tokens import plotly_template, tokens
from website.scripts import call, write


def write_theme(app: Sphinx, exception: Exception | None) -> None:
    """Both templates, and for every colour of the light theme its twin in the dark one."""
    light, dark = tokens()["light"], tokens()["dark"]
    twins = {light[name].lower(): dark[name] for name in reversed(light) if light[name].startswith("#")}
    theme = {"light": plotly_template("light"), "dark": plotly_template("dark"), "dark_of": twins}
    write(app, exception, {"chart-theme.js": call("charts.theme", theme)})


def setup(app: Sphinx) -> dict[str, bool]:
    """Once the pages are written."""
    app.connect("build-finished", write_theme)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
