"""A module of HLO, XLA's intermediate language, as text: computations, their instructions, and how often each runs. Chapter: annotations.

The form is what `compiled.as_text()` of JAX gives and what XLA dumps; the grammar is that of XLA's own parser
(openxla/xla, xla/hlo/parser/hlo_parser.cc). Instructions are taken apart, not understood: only their type, opcode, operands and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

_COMMENT = re.compile(r"/\*.*?\*/")
_COMPUTATION = re.compile(r"(ENTRY )?%?([\w.-]+) \(.*\) -> .+ \{")
_BARE = re.compile(r"(ENTRY )?%?([\w.-]+) \{")
_INSTRUCTION = re.compile(r"\s+(ROOT )?%?([\w.-]+) = ")
_OPCODE = re.compile(r"\s*([a-z][\w-]*)\(")
_CALLED = re.compile(
    r"(calls|to_apply|body|condition|true_computation|false_computation|branch_computations|called_computations)"
    r"=(?:\{([^}]*)\}|%?([\w.-]+))"
)
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_SECTIONS = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
MOST_DIGITS, MOST_DEVICES = 18, 1 << 20  # more is damage, and would fill the memory
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class HloError(ValueError):
    """No text of HLO, or one that is damaged. line: the number of the line to blame, where there is one."""

    def __init__(self, what: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(f"line {line}: {what}" if line else what)


class Instruction(NamedTuple):
    """`type` as written, "f32[2,16]{1,0}"; operands by their names; attributes: what stands behind the operands."""

    line: int
    name: str
    type: str
    opcode: str
    operands: tuple[str, ...]
    attributes: str


@dataclass(frozen=True)
class Module:
    """ndevices: how many run this program, each with its own parts. computations: instructions by name; entry: the
    first to run."""

    name: str
    ndevices: int
    entry: str
    computations: Mapping[str, Mapping[str, Instruction]] = field(repr=False)

    def runs(self) -> dict[str, int | None]:
        """How often each computation runs when the program does; None where the text does not say, in loops and branches."""
        callers: dict[str, list[tuple[str, int | None]]] = {name: [] for name in self.computations}
        for name, instructions in self.computations.items():
            for one in instructions.values():
                for called in called_by(one):
                    if called not in callers:
                        raise HloError(f"{one.name} calls {called}, and no computation is called so", one.line)
                    callers[called].append((name, repeats(one)))
        found: dict[str, int | None] = {self.entry: 1}
        for name in callers:
            _count(name, callers, found, ())
        return found


def _count(
    name: str, callers: Mapping[str, list[tuple[str, int | None]]], found: dict[str, int | None], above: tuple[str, ...]
) -> int | None:
    if name not in found:
        if name in above:
            raise HloError(f"{name} calls itself")
        times = [(_count(one, callers, found, (*above, name)), many) for one, many in callers[name]]
        unknown = any(a is None or (b is None and a) for a, b in times)
        found[name] = None if unknown else sum((a or 0) * (b or 0) for a, b in times)
    return found[name]


def called_by(one: Instruction) -> list[str]:
    """The computations that an instruction names."""
    found = []
    for _, several, single in _CALLED.findall(one.attributes):
        found += [name.strip().lstrip("%") for name in several.split(",")] if several else [single]
    return [name for name in found if name]


def repeats(one: Instruction) -> int | None:
    """How often an instruction runs what it calls: once, a loop as often as XLA has worked out, and a branch nobody knows."""
    if one.opcode == "conditional":
        return None
    if one.opcode == "while":
        trips = _TRIPS.search(one.attributes)
        return number(trips[1], one.line) if trips else None
    return 1


def read_module(text: str) -> Module:
    """The module of a text. HloError for what is no such text, or is cut off."""
    lines = enumerate(text.splitlines(), 1)
    header = next(((number, line) for number, line in lines if line.strip()), (None, ""))[1]
    if not (named := re.match(r"HloModule ([\w.-]+)", header)):
        raise HloError(f"a text of HLO begins with HloModule and a name, got {header[:60]!r}")
    if replicas := re.search(r"\breplica_count=(\d+)", header):
        raise HloError(f"one program cut into parts is read here, and this one runs in {replicas[1]} replicas")
    partitions = re.search(r"\bnum_partitions=(\d+)", header)
    entry, computations = _computations(lines)
    if entry is None:
        raise HloError("no computation is marked ENTRY: the text is cut off")
    ndevices = number(partitions[1]) if partitions else 1
    if not 1 <= ndevices <= MOST_DEVICES:
        raise HloError(f"a program runs on 1 to {MOST_DEVICES:,} devices, and this one says {ndevices}")
    return Module(named[1], ndevices, entry, computations)


def number(digits: str, line: int | None = None) -> int:
    """HloError for more digits than any size has."""
    if len(digits) > MOST_DIGITS:
        raise HloError(f"a number of {len(digits)} digits", line)
    return int(digits)


def _computations(lines: Iterator[tuple[int, str]]) -> tuple[str | None, dict[str, dict[str, Instruction]]]:
    entry, found, tables = None, {}, False
    for number, written in lines:
        line = _COMMENT.sub("", written).rstrip()
        if not line or line in _SECTIONS or (tables and re.match(r"\d+ ", line)):
            tables = tables or line in _SECTIONS
            continue
        begins = _COMPUTATION.fullmatch(line) or _BARE.fullmatch(line)
        if not begins:
            raise HloError(f"a computation begins here or nothing does, got {line[:60]!r}", number)
        if begins[2] in found:
            raise HloError(f"{begins[2]} comes twice", number)
        entry = begins[2] if begins[1] else entry
        found[begins[2]] = _body(begins[2], lines)
    return entry, found


def _body(name: str, lines: Iterator[tuple[int, str]]) -> dict[str, Instruction]:
    found: dict[str, Instruction] = {}
    for number, written in lines:
        line = _COMMENT.sub("", written).rstrip()
        if line.startswith("}"):
            return found
        if line:
            one = _instruction(line, number)
            if one.name in found:
                raise HloError(f"{one.name} comes twice", number)
            found[one.name] = one
    raise HloError(f"the text ends inside of {name}")


def _instruction(line: str, number: int) -> Instruction:
    """`  ROOT %y = f32[2]{0} add(%a, %b), metadata={...}`."""
    if not (begins := _INSTRUCTION.match(line)):
        raise HloError(f"no instruction: {line.strip()[:60]!r}", number)
    ends = _type_end(line, begins.end(), number)
    if not (opcode := _OPCODE.match(line, ends)):
        raise HloError(f"{begins[2]} has no opcode behind its type", number)
    closes = _closed(line, opcode.end() - 1, number)
    operands = [_named(part) for part in split(line[opcode.end() : closes])]
    kind, attributes = line[begins.end() : ends].strip(), line[closes + 1 :]
    return Instruction(number, begins[2], kind, opcode[1], tuple(operands), attributes)


def _type_end(line: str, at: int, number: int) -> int:
    if line[at] == "(":
        return _closed(line, at, number) + 1
    while at < len(line) and line[at] != " ":
        at = _closed(line, at, number) + 1 if line[at] in _CLOSING else at + 1
    return at


def _closed(line: str, at: int, number: int) -> int:
    """Where the bracket that opens at `at` closes."""
    open_, depth = [], at
    for depth in range(at, len(line)):
        if line[depth] in _CLOSING:
            open_.append(_CLOSING[line[depth]])
        elif line[depth] in ")]}":
            if line[depth] != open_.pop():
                break
            if not open_:
                return depth
    raise HloError(f"a bracket is not closed: {line.strip()[:60]!r}", number)


def split(text: str) -> list[str]:
    """At the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _named(operand: str) -> str:
    """ "f32[2]{0} %x" and "%x" -> "x"."""
    return operand.rpartition(" ")[2].lstrip("%")


# types --------------------------------------------------------------------------------------------------------------
_BITS = {"pred": 8, "bf16": 16, "c64": 64, "c128": 128, "s2": 2, "u2": 2, "s4": 4, "u4": 4}
_BITS |= {f"{kind}{bits}": bits for kind in "su" for bits in (8, 16, 32, 64)} | {f"f{n}": n for n in (16, 32, 64)}
_BITS |= {"f8e5m2": 8, "f8e4m3": 8, "f8e4m3fn": 8, "f8e4m3b11fnuz": 8, "f8e5m2fnuz": 8, "f8e4m3fnuz": 8, "f8e3m4": 8}
_BITS |= {"f8e8m0fnu": 8, "f4e2m1fn": 4}
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{.*\})?")


def elements(kind: str) -> list[str]:
    """The types inside of a tuple's type; of any other, itself."""
    return split(kind[1:-1]) if kind.startswith("(") else [kind]


def nbytes(kind: str, line: int | None = None) -> Fraction:
    """Bytes of a type, all arrays of a tuple together. HloError for a type that is none, or whose size is not in the text."""
    if kind.startswith("("):
        return sum((nbytes(one, line) for one in elements(kind)), Fraction(0))
    if not (array := _ARRAY.fullmatch(kind)) or array[1] not in _BITS:
        raise HloError(f"no type of a known size: {kind[:60]!r}", line)
    numel = 1
    for size in filter(None, array[2].split(",")):
        numel *= number(size, line)
    return Fraction(numel * _BITS[array[1]], 8)


def plain(kind: str) -> str:
    """Without layouts: "f32[2,16]{1,0}" -> "f32[2,16]"."""
    return re.sub(r"\{[^}]*\}", "", kind)
