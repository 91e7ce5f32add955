"""anywidget and traitlets in a page, where no kernel listens: a widget is what it was made of, and shows its mount."""

from __future__ import annotations

from collections.abc import Callable


class TraitError(Exception):
    """traitlets' error."""


class Trait:
    """A value with a default."""

    def __init__(self, default: object = None, **_: object):
        self.default = default

    def tag(self, **_: object) -> Trait:
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: object, kind: type) -> object:
        return self if owner is None else owner.__dict__.get(self.name, self.default)


Bool = Dict = Int = List = Unicode = Trait


def default(*_: str) -> Callable:
    """Of traitlets; nothing asks for what only a kernel needs."""
    return lambda function: function


observe = validate = default


class AnyWidget:
    """A widget without a front end."""

    comm = None

    def __init__(self, **values: object):
        vars(self).update(values)

    def observe(self, *_: object) -> None:
        """Nothing changes here but by hand."""

    on_msg = send = close = observe

    def _repr_mimebundle_(self, **_: object) -> tuple[dict, dict]:
        return {}, {}
