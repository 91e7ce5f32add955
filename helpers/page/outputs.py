"""What a block shows beside its text: mime bundles, handed to the page as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

kept: list[str] = []
send: Callable[[str], object] = kept.append  # the page's worker puts its own here; natively what was shown is kept


def shown(bundle: dict[str, object]) -> None:
    """Hand on a mime bundle, {"text/html": ..., "text/plain": ...}, behind the text before it."""
    sys.stdout.flush()
    send(json.dumps(bundle, ensure_ascii=False))


def display(*values: object, raw: bool = False, **_: object) -> None:
    """IPython's display; raw: the values are bundles already."""
    for value in values:
        shown(value if raw else bundle_of(value))


def bundle_of(value: object) -> dict[str, object]:
    """As Jupyter would show it: a value's own bundle or HTML, and its repr."""
    if hasattr(value, "_repr_mimebundle_"):
        found = value._repr_mimebundle_()
        return found[0] if isinstance(found, tuple) else found
    html = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
    return {**html, "text/plain": repr(value)}
