"""How gpu-check ends: the verdict in words, what failed and what to do about it, three labs for this machine, and the file to send."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path

from helpers.yours import Verdict, is_my_number_good

from .labs import labs

WIDEST = 110  # letters of a line
COPIED = " " * 5  # before a command, which is not wrapped


def ending(answers: Mapping[str, dict], packed: Path) -> str:
    """packed: the run's file, from which the verdict is told as the page tells it."""
    found = is_my_number_good(packed.read_bytes())
    three = labs(answers, found)
    chosen = [f"{place}. notebooks/{stem}.ipynb: {why}." for place, (stem, why) in enumerate(three, 1)]
    chosen += ["To run them without Jupyter, and to record that they came to their end here:"] * bool(three)
    chosen += [f'{COPIED}make gpu-check LABS="{" ".join(stem for stem, _ in three)}"'] * bool(three)
    sends = (
        f"{packed} ({packed.stat().st_size / 1024:.0f} KiB) is this run, without the name of a host, a user or a folder."
        " Open it on the page 'Is my number good?' (book/yours), or attach it to an issue."
    )
    parts = {"Is my number good?": told(found), "Three labs for this machine": chosen, "The run in one file": [sends]}
    return "\n".join(line for head, lines in parts.items() for line in ("", head, *map(_wrapped, lines)))


def told(found: Verdict) -> list[str]:
    """The sentence, all that was measured, and the causes, each with what to do about it as a line to copy."""
    if found.refused:
        return [found.refused]
    lines = [found.sentence, *found.lines[:-1]]  # the last counts the checks
    for place, one in enumerate(found.causes, 1):
        lines += [f"{place}. {one.name}: {one.why} (page book/{one.chapter})", f"{COPIED}{one.command}"]
    return lines


def _wrapped(line: str) -> str:
    if line.startswith(COPIED):
        return line
    width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)
    return textwrap.fill(line, width, initial_indent="  ", subsequent_indent="     ", break_on_hyphens=False)
