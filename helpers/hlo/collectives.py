"""The collectives of a compiled program, with their bytes: what the compiler put in to make annotations true. Chapter: annotations.

Bytes are one device's, by the conventions of `helpers.collectives.PRIMITIVES`: `given` and `taken` are its input and its output, `sent`
what it must at least send. An operation in two halves, all-gather-start and all-gather-done, counts once; one inside of a loop as often
as the loop runs, where the text says how often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from helpers.collectives import PRIMITIVES
from helpers.hlo.groups import Groups, groups, pairs
from helpers.hlo.text import HloError, Instruction, Module, nbytes, plain, read_module

# HLO's name, and ours: torch's, but for a permutation, which is a send from each source to its target.
OPERATIONS = {
    "all-reduce": "all_reduce",
    "all-gather": "all_gather",
    "reduce-scatter": "reduce_scatter",
    "all-to-all": "all_to_all",
    "collective-permute": "send",
}
UNREAD = ("ragged-all-to-all", "collective-broadcast", "send", "recv")
Body = dict[str, Instruction]


@dataclass(frozen=True)
class Collective:
    """One instruction. groups: of devices; of a send its pairs. shapes: of its inputs, "f32[2,16]". times: how often it runs."""

    op: str
    name: str
    line: int
    shapes: tuple[str, ...]
    groups: Groups
    given: int
    taken: int
    times: int = 1
    asynchronous: bool = False

    @property
    def nranks(self) -> int:
        """Ranks of one group; a send has two."""
        return len(self.groups[0])

    def sent(self, rank: int = 0) -> Fraction:
        """Bytes that a device must at least send, all times together."""
        if self.op == "send":
            leaves = any(source == rank != target for source, target in self.groups)
            return Fraction(self.given * self.times * leaves)
        group = next(one for one in self.groups if rank in one)
        share = PRIMITIVES[self.op].least(group.index(rank), len(group), 0)[0]
        return share * max(self.given, self.taken) * self.times

    def __str__(self) -> str:
        """ "2 x all_reduce of f32[16,16] in [0, 1], [2, 3]: 1,024 B given"."""
        many = f"{self.times} x " if self.times > 1 else ""
        among = ", ".join(f"{list(group)}" for group in self.groups)
        way = "along" if self.op == "send" else "in"
        return f"{many}{self.op} of {', '.join(self.shapes)} {way} {among}: {self.given:,} B given"


@dataclass(frozen=True)
class Compiled:
    """Of one module. Every question may name an operation."""

    name: str
    ndevices: int
    collectives: tuple[Collective, ...]

    def those(self, op: str | None = None) -> tuple[Collective, ...]:
        return tuple(one for one in self.collectives if op in (None, one.op))

    def ncalls(self, op: str | None = None) -> int:
        return sum(one.times for one in self.those(op))

    def by_op(self) -> dict[str, int]:
        """How often each operation runs."""
        return {op: self.ncalls(op) for op in dict.fromkeys(one.op for one in self.collectives)}

    def sent(self, rank: int = 0, op: str | None = None) -> Fraction:
        """Bytes that a device must at least send."""
        return sum((one.sent(rank) for one in self.those(op)), Fraction(0))

    def __str__(self) -> str:
        return "\n".join(map(str, self.collectives)) or "nothing"


def parse_hlo_collectives(text: str) -> Compiled:
    """The collectives of a text of HLO, in the order in which it has them. HloError for a text that is damaged, and for a collective
    whose size, devices or number of runs the text does not say."""
    module = read_module(text)
    runs, found = module.runs(), []
    for name, body in module.computations.items():
        for one in _collectives(module, dict(body), runs[name]):
            found.append(one)
    return Compiled(module.name, module.ndevices, tuple(found))


def _collectives(module: Module, body: Body, runs: int | None) -> Iterator[Collective]:
    for one in body.values():
        opcode = one.opcode.removesuffix("-start")
        if opcode in UNREAD:
            raise HloError(f"{one.opcode} is not read here: only {', '.join(OPERATIONS)}", one.line)
        if opcode.removesuffix("-done") in OPERATIONS and opcode.endswith("-done"):
            _started(one, body)
        elif opcode in OPERATIONS and runs != 0:
            if runs is None:
                raise HloError(
                    f"{one.name} is in a loop or a branch, and the text does not say how often it runs", one.line
                )
            yield _collective(module, body, one, runs)


def _collective(module: Module, body: Body, one: Instruction, runs: int) -> Collective:
    opcode, asynchronous = one.opcode.removesuffix("-start"), one.opcode.endswith("-start")
    kinds = [_operand(name, body, one).type for name in one.operands]
    given = sum((nbytes(kind, one.line) for kind in kinds), Fraction(0))
    among = (pairs if opcode == "collective-permute" else groups)(one.attributes, module.ndevices, one.line)
    taken = nbytes(_done(one, body).type if asynchronous else one.type, one.line)
    _fits(one, opcode, given, taken, len(among[0]))
    shapes = tuple(plain(kind) for kind in kinds)
    return Collective(OPERATIONS[opcode], one.name, one.line, shapes, among, int(given), int(taken), runs, asynchronous)


def _operand(name: str, body: Body, one: Instruction) -> Instruction:
    if name not in body:
        raise HloError(f"{one.name} takes {name}, and no instruction is called so", one.line)
    return body[name]


def _done(one: Instruction, body: Body) -> Instruction:
    """The second half of an operation."""
    name = one.opcode.removesuffix("-start") + "-done"
    found = [other for other in body.values() if other.opcode == name and one.name in other.operands]
    if len(found) != 1:
        raise HloError(f"{one.name} is started, and {len(found)} instructions wait for it", one.line)
    return found[0]


def _started(one: Instruction, body: Body) -> None:
    first = one.opcode.removesuffix("-done") + "-start"
    if not any(_operand(name, body, one).opcode == first for name in one.operands):
        raise HloError(f"{one.name} waits for no {first}", one.line)


def _fits(one: Instruction, opcode: str, given: Fraction, taken: Fraction, nranks: int) -> None:
    """Input and output agree with the operation, and with how many take part."""
    want = {"all-gather": given * nranks, "reduce-scatter": given / nranks}.get(opcode, given)
    if taken != want:
        raise HloError(
            f"{one.name} gives {given} B among {nranks} devices and takes {taken} B, expected {want}", one.line
        )
