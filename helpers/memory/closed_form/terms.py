"""A formula that can be opened: every term is the sum of a list of tensors that something keeps, and says where it stands.

Chapters: training-memory, too-big; the memory calculator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from helpers.facts import PAPERS, SOURCES
from helpers.memory.trace import CLASSES
from helpers.units import nbytes_text

SAYS = {**SOURCES, **PAPERS}  # who says so


class FormError(ValueError):
    """A closed form was asked for something that it does not describe. The message names the value and what was expected."""


@dataclass(frozen=True)
class Operator:
    """One tensor that is kept. name: the operator that keeps it; keeps: which tensor, in words; shape: its sides as symbols.

    width: bytes of an element; over: among how many ranks it is split; nbytes: its bytes on this rank. source: a key of SAYS.
    """

    name: str
    keeps: str
    shape: tuple[str, ...]
    width: int
    over: int
    nbytes: int
    source: str = ""

    @property
    def formula(self) -> str:
        """ "2 b s h / 8": bytes of an element times its sides, over the ranks that share it."""
        return " ".join((str(self.width), *self.shape)) + (f" / {self.over}" if self.over > 1 else "")


@dataclass(frozen=True)
class Term:
    """A part of the memory. cls: one of trace.CLASSES; times: how often the list of operators is kept (layers, micro-batches)."""

    name: str
    cls: str
    formula: str
    operators: tuple[Operator, ...]
    times: int = 1
    source: str = ""

    def __post_init__(self) -> None:
        if self.cls not in CLASSES or self.source not in {"", *SAYS}:
            raise FormError(
                f"{self.name}: a term has a class of a trace and a known source, got {self.cls}, {self.source}"
            )

    @property
    def nbytes(self) -> int:
        """Bytes of the whole term: its operators, added up, as often as they are kept."""
        return self.times * sum(operator.nbytes for operator in self.operators)

    def __str__(self) -> str:
        """The operators, one a line, and their sum."""
        wide = max((len(f"{op.name}: {op.keeps}") for op in self.operators), default=0)
        rows = [f"{f'{op.name}: {op.keeps}':<{wide}}  {op.formula:>16}  {op.nbytes:>18,} B" for op in self.operators]
        often = f"{self.times} times, " if self.times > 1 else ""
        return "\n".join([f"{self.name} = {self.formula}", *rows, f"{often}{nbytes_text(self.nbytes)}"])

    def _repr_html_(self) -> str:
        head = ("Operator", "What it keeps", "Bytes", "")
        rows = [(op.name, op.keeps, op.formula, f"{op.nbytes:,}") for op in self.operators]
        often = f", {self.times} times" if self.times > 1 else ""
        return html_table(f"{self.name} = {self.formula}{often}: {nbytes_text(self.nbytes)}", head, rows)


@dataclass(frozen=True)
class Terms:
    """Terms that stand in memory together. terms["gradients"] is one of them; str() is the table."""

    title: str
    terms: tuple[Term, ...]

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(term.nbytes for term in self.terms)

    @property
    def nbytes(self) -> Mapping[str, int]:
        """Bytes of every class there is, in the order of trace.CLASSES."""
        held = {cls: sum(term.nbytes for term in self.terms if term.cls == cls) for cls in CLASSES}
        return {cls: held[cls] for cls in CLASSES if held[cls]}

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def __getitem__(self, name: str) -> Term:
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(f"no term {name!r}; there are: {', '.join(term.name for term in self.terms)}")

    def __add__(self, other: Terms) -> Terms:
        return Terms(self.title, self.terms + other.terms)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(name, formula, bytes, who says so) of every term."""
        return [(t.name, t.formula, nbytes_text(t.nbytes), _title(t.source)) for t in self.terms]

    def __str__(self) -> str:
        rows = [*(row[:3] for row in self.rows()), ("together", "", nbytes_text(self.total))]
        wide = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = (f"{name:<{wide[0]}}  {formula:<{wide[1]}}  {size:>{wide[2]}}".rstrip() for name, formula, size in rows)
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        rows = [*self.rows(), ("together", "", nbytes_text(self.total), "")]
        return html_table(self.title, ("Term", "Formula", "Bytes", "Source"), rows)


def _title(source: str) -> str:
    return SAYS[source].title if source else ""


def html_table(caption: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """An HTML table, everything escaped."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def whole(least: int = 1, **values: object) -> None:
    """FormError unless every value is a whole number of at least `least`."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise FormError(f"{name} must be a whole number of at least {least}, got {value!r}")


def one_of(allowed: tuple[object, ...], **values: object) -> None:
    """FormError unless every value is one of `allowed`."""
    for name, value in values.items():
        if value not in allowed or isinstance(value, bool) != (allowed[0] is True or allowed[0] is False):
            raise FormError(f"{name} must be one of {', '.join(map(str, allowed))}, got {value!r}")


def shared(numel: int, over: int) -> int:
    """Elements of one rank when `numel` are split evenly among `over`, the rest filled up."""
    return -(-numel // over)
