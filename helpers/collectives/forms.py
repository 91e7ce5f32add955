"""Closed forms that are said once: Python works them out, and they print themselves as pages show them.

    steps = 2 * ceil(log2(P))    # str(steps) == "2⌈log2 P⌉", steps(5) == 6

P is the number of ranks, S of chunks, G of GPUs in a node. Chapters: ring, trees, catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

SUM, QUOTIENT, PRODUCT, POWER, ATOM = range(5)  # how tightly the outermost sign of a form binds


class At(NamedTuple):
    """What a form is worked out for."""

    nranks: Fraction
    nchunks: Fraction
    gpus: Fraction


@dataclass(frozen=True, repr=False)
class Form:
    """A number that depends on P, S and G: `form(nranks, nchunks, gpus)` is its value, exactly; `str(form)` how it is written.

    Forms are made of P, S, G and whole numbers by + - * / **, and by `ceil`, `floor`, `log2`, `minimum` and `function`.
    """

    text: str
    value: Callable[[At], Fraction]
    binds: int = ATOM

    def __call__(self, nranks: int, nchunks: int = 1, gpus: int = 1) -> Fraction:
        return self.value(At(Fraction(nranks), Fraction(nchunks), Fraction(gpus)))

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __add__(self, other: Form | int) -> Form:
        other = form(other)
        sums = other.binds == SUM  # two sums beside each other both keep their brackets
        text = f"{_within(self, QUOTIENT if sums else SUM)}+{_within(other, QUOTIENT)}"
        return Form(text, lambda at: self.value(at) + other.value(at), SUM)

    def __sub__(self, other: Form | int) -> Form:
        other = form(other)
        return Form(f"{self}-{_within(other, QUOTIENT)}", lambda at: self.value(at) - other.value(at), SUM)

    def __mul__(self, other: Form | int) -> Form:
        other = form(other)
        left, right = _within(self, PRODUCT), _within(other, PRODUCT)
        text = f"{left}·{right}" if right[0].isdigit() else f"{left}{right}"
        return Form(text, lambda at: self.value(at) * other.value(at), PRODUCT)

    def __truediv__(self, other: Form | int) -> Form:
        other = form(other)
        text = f"{_within(self, PRODUCT)}/{_within(other, POWER)}"
        return Form(text, lambda at: self.value(at) / other.value(at), QUOTIENT)

    def __pow__(self, other: Form | int) -> Form:
        """The exponent must come out whole."""
        other = form(other)
        text = f"{_within(self, ATOM)}^{_within(other, ATOM)}"
        return Form(text, lambda at: self.value(at) ** int(other.value(at)), POWER)

    def __radd__(self, other: int) -> Form:
        return form(other) + self

    def __rsub__(self, other: int) -> Form:
        return form(other) - self

    def __rmul__(self, other: int) -> Form:
        return form(other) * self

    def __rtruediv__(self, other: int) -> Form:
        return form(other) / self

    def __rpow__(self, other: int) -> Form:
        return form(other) ** self


P = Form("P", lambda at: at.nranks)
S = Form("S", lambda at: at.nchunks)
G = Form("G", lambda at: at.gpus)


def form(number: Form | int) -> Form:
    """A whole number as a form; a form as it is."""
    if isinstance(number, Form):
        return number
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"a closed form is made of P, S, G and whole numbers, got {number!r}")
    return Form(f"{number}", lambda at: Fraction(number))


def ceil(inner: Form) -> Form:
    """The next whole number from inner on."""
    return Form(f"⌈{inner}⌉", lambda at: Fraction(math.ceil(inner.value(at))))


def floor(inner: Form) -> Form:
    """The last whole number up to inner."""
    return Form(f"⌊{inner}⌋", lambda at: Fraction(math.floor(inner.value(at))))


def log2(inner: Form) -> Form:
    """The logarithm; only powers of two come out exact, so it stands within `ceil` or `floor`."""
    plain = inner.binds == ATOM
    text = f"log2 {inner}" if plain else f"log2({inner})"
    return Form(text, lambda at: Fraction(math.log2(inner.value(at))), QUOTIENT if plain else ATOM)


def minimum(first: Form | int, *others: Form | int) -> Form:
    """The smallest of them."""
    forms = [form(each) for each in (first, *others)]
    return Form(f"min({','.join(map(str, forms))})", lambda at: min(each.value(at) for each in forms))


def function(tell: Callable[[int], int]) -> Callable[[Form], Form]:
    """A function of whole numbers by its own name, to be used in forms: what has no closed form but a definition."""

    def applied(inner: Form) -> Form:
        return Form(f"{tell.__name__}({inner})", lambda at: Fraction(tell(int(inner.value(at)))))

    applied.__doc__ = tell.__doc__
    return applied


def _within(inner: Form, binds: int) -> str:
    return str(inner) if inner.binds >= binds else f"({inner})"
