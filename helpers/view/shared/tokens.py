"""The design language as values: assets/tokens.json, read once, for css, widgets and plotly. Written down in assets/tokens.md."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

TOKENS = Path(__file__).parents[3] / "assets" / "tokens.json"
THEMES = ("light", "dark")
NRANK_COLOURS = 8

# Who says which theme: the site's switch, JupyterLab's setting, and only where neither speaks, the system.
_SELECTORS = {
    "light": ':root, html[data-theme="light"], [data-jp-theme-light="true"]',
    "dark": 'html[data-theme="dark"], [data-jp-theme-light="false"]',
}


@cache
def tokens() -> dict[str, dict]:
    """The tokens by group: type, space, motion, light, dark, meaning. Treat as read-only."""
    return json.loads(TOKENS.read_text(encoding="utf-8"))


def colour(name: str, theme: str = "light") -> str:
    """The hex of one colour token: colour("rank-3", "dark"). KeyError names what is missing."""
    if theme not in THEMES:
        raise KeyError(f"theme must be one of {', '.join(THEMES)}, got {theme!r}")
    if name not in tokens()[theme]:
        raise KeyError(f"no colour {name!r} in {TOKENS.name}: expected one of {', '.join(tokens()[theme])}")
    return tokens()[theme][name]


def rank_colour(rank: int, theme: str = "light") -> str:
    """The colour of a rank's data; from rank 8 on colours repeat, and a second mark tells them apart."""
    return colour(f"rank-{rank % NRANK_COLOURS}", theme)


def series_colour(place: int, theme: str = "light") -> str:
    """The colour of a line, bar or group that is no rank: never one of the ranks'; from place 8 on colours repeat."""
    return colour(f"series-{place % NRANK_COLOURS}", theme)


def css() -> str:
    """Custom properties `--bim-<name>`: shared ones on :root, colours by theme, on the site, in JupyterLab and elsewhere."""
    shared = {**tokens()["type"], **tokens()["space"], **tokens()["motion"]}
    return "\n".join(
        [
            _rule(":root", shared),
            _rule(_SELECTORS["light"], tokens()["light"]),
            "@media (prefers-color-scheme: dark) {",
            _rule(":root:not([data-theme])", tokens()["dark"]),
            "}",
            _rule(_SELECTORS["dark"], tokens()["dark"]),
            "",
        ]
    )


def _rule(selector: str, values: dict[str, str]) -> str:
    lines = "\n".join(f"  --bim-{name}: {value};" for name, value in values.items())
    return f"{selector} {{\n{lines}\n}}"


def plotly_template(theme: str = "light") -> dict:
    """A slim plotly template: the course's font, hairlines and the series' colours, no boxes. Set as layout.template."""
    line = {
        "gridcolor": colour("line", theme),
        "linecolor": colour("edge", theme),
        "zerolinecolor": colour("line", theme),
    }
    axis = {**line, "ticks": "outside", "ticklen": 4, "tickcolor": colour("edge", theme), "automargin": True}
    return {
        "layout": {
            "font": {"family": tokens()["type"]["font-ui"], "size": 13, "color": colour("ink", theme)},
            "title": {"x": 0, "xref": "paper", "font": {"size": 16}},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": [series_colour(place, theme) for place in range(NRANK_COLOURS)],
            "xaxis": {**axis, "showgrid": False},
            "yaxis": axis,
            "margin": {"l": 56, "r": 16, "t": 48, "b": 48},
            "hoverlabel": {"font": {"family": tokens()["type"]["font-ui"]}},
        }
    }
