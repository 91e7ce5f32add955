"""One call of torch, before and after, on the reader's numbers."""

from helpers.view.primitive.widget import (
    PrimitiveWidget,
    primitive,
    primitive_html,
    primitive_sentence,
    primitive_spec,
    primitives,
)

__all__ = [
    "PrimitiveWidget",
    "primitive",
    "primitive_html",
    "primitive_sentence",
    "primitive_spec",
    "primitives",
]
