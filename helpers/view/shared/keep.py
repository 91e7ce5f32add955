"""keep(...): what a lab computed and its chapter quotes. The chapter cites by name, so no number on a page is typed. Every lab."""

from __future__ import annotations

from IPython.display import display

MIME = "application/vnd.bytes-in-motion.values+json"


def keep(**values: str) -> None:
    """Display values as one output that the page's {lab} role reads and nbval compares. Texts only: the lab rounds and names units.

    ValueError for a value that is no text or is empty.
    """
    for name, value in values.items():
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name}: a kept value is a text with its unit, as the page prints it, got {value!r}")
    lines = [f"{name}: {value}" for name, value in values.items()]
    display({MIME: values, "text/plain": "\n".join(lines)}, raw=True)
