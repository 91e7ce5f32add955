"""A schedule drawn, typed and checked by hand."""

from helpers.view.playground.widget import Playground, playground, playground_html, playground_spec

__all__ = [
    "Playground",
    "playground",
    "playground_html",
    "playground_spec",
]
