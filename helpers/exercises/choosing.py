"""The exercises of the chapter `choosing`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from helpers.facts import MACHINES
from helpers.nccl import Choice, OverrideError, overridden, overrides, predict
from helpers.nccl.overrides import ALGORITHMS, FUNCTIONS
from helpers.units import nbytes_text, seconds_text

from .answer import Answer, NotYetError, judge

SIZES = [2**k for k in range(10, 31)]
Log = Mapping[int, str]  # by size the way that a log has told: {8388608: "Ring/LL128"}


# what is left --------------------------------------------------------------------------------------------------------------
LISTS = (
    ("Ring", "all_reduce"),
    ("tree,ring", "all_gather"),
    ("^tree", "all_reduce"),
    ("allreduce:tree", "all_reduce"),
    ("allreduce:tree", "all_gather"),
    ("ring;allreduce:^nvls,nvlstree", "all_reduce"),
    ("ring;allreduce:^nvls,nvlstree", "broadcast"),
    ("^collnetdirect;reducescatter:PAT,Ring", "reduce_scatter"),
    ("allreduce:ring;allreduce:tree", "all_reduce"),
)


def what_is_left(answer: Callable[[str, str], Collection[str]]) -> Answer:
    """answer(text, collective): the algorithms that NCCL_ALGO=text leaves to a collective, by NCCL's names."""
    return judge(LISTS, lambda case: _left(answer, *case), f"What NCCL 2.24 and newer read, in all {len(LISTS)} cases.")


def _left(answer: Callable[[str, str], Collection[str]], text: str, collective: str) -> None:
    want = {name for name, switch in overrides(text).algorithms[collective].items() if switch}
    given = answer(text, collective)
    where = f'NCCL_ALGO="{text}" and {collective}'
    if isinstance(given, str) or not isinstance(given, Collection):
        raise NotYetError(f"{where}: expected some of {', '.join(ALGORITHMS)}, got {given!r}.")
    if strange := [name for name in given if name not in ALGORITHMS]:
        raise NotYetError(f"{where}: {strange[0]!r} is none of {', '.join(ALGORITHMS)}.")
    if set(given) != want:
        raise NotYetError(
            f"{where}: you leave {', '.join(sorted(given)) or 'nothing'}, NCCL {', '.join(sorted(want))}."
            " Hint: whose entry is it, does it begin with a caret, and does a later one say otherwise?"
        )


# what an upgrade changed ---------------------------------------------------------------------------------------------------
UPGRADES = (
    ("HGX-B200", 4, "2.28.9", "2.29.2"),
    ("HGX-B200", 4, "2.29.2", "2.29.7"),
    ("HGX-H100", 5, "2.27.7", "2.28.9"),
    ("HGX-H100", 8, "2.29.2", "2.30.7"),
)


def log_of(machine: str, nranks: int, version: str) -> dict[int, str]:
    """By size what the log of this machine would tell of an all_reduce."""
    told = (predict("all_reduce", nbytes, MACHINES[machine], nranks, version) for nbytes in SIZES)
    return {choice.nbytes: f"{choice.algorithm}/{choice.protocol}" for choice in told}


def what_changed(answer: Callable[[Log, Log], Mapping[int, tuple[str, str]]]) -> Answer:
    """answer(before, after): by size the two ways, of the sizes that both logs tell of and whose way is another one."""
    cases = [(log_of(m, n, old), log_of(m, n, new), f"{n} GPUs of {m}, {old} and {new}") for m, n, old, new in UPGRADES]
    before, after, _ = cases[0]
    short = {nbytes: way for nbytes, way in after.items() if nbytes != 2**23 and nbytes > 2**12}
    cases.append((before, short, "the second log without 8 MiB and the shortest"))
    return judge(cases, lambda case: _changed(answer, *case), f"All that changed, in {len(cases)} pairs of logs.")


def _changed(answer: Callable[[Log, Log], Mapping[int, tuple[str, str]]], before: Log, after: Log, where: str) -> None:
    want = {nbytes: (way, after[nbytes]) for nbytes, way in before.items() if after.get(nbytes, way) != way}
    given = answer(dict(before), dict(after))
    if not isinstance(given, Mapping):
        raise NotYetError(f"{where}: expected {{size: (before, after)}}, got {given!r}.")
    got = {nbytes: tuple(ways) if isinstance(ways, (tuple, list)) else ways for nbytes, ways in given.items()}
    if got == want:
        return
    unlike = min(nbytes for nbytes in {*got, *want} if got.get(nbytes) != want.get(nbytes))
    raise NotYetError(
        f"{where}: at {nbytes_text(unlike)} you say {got.get(unlike, 'nothing')}, it is {want.get(unlike, 'nothing')}."
        " Hint: a size counts where both logs tell of it, and tell it otherwise."
    )


# an override that pays -----------------------------------------------------------------------------------------------------
TARGETS = (2**20, 2**23, 2**25)  # what the job sends: an override cannot name a size


def an_override(answer: Callable[[], tuple[str, str]]) -> Answer:
    """answer(): (NCCL_ALGO, NCCL_PROTO) for four B200 under NCCL 2.29.2, whose all_reduces have 1 to 32 MiB: it must help at 8 MiB by
    our model, harm neither 1 nor 32 MiB by more than a tenth, and leave the other collectives as they are.
    """
    given = answer()
    praise = "It helps at 8 MiB, harms neither 1 nor 32 MiB, and touches no other collective."
    return judge([given], _override, praise)


def _override(given: object) -> None:
    if not (isinstance(given, tuple) and len(given) == 2 and all(isinstance(one, str) for one in given)):
        raise NotYetError(f"Expected two texts, NCCL_ALGO and NCCL_PROTO, got {given!r}.")
    try:
        by = overrides(*given)
    except OverrideError as error:
        raise NotYetError(f"NCCL does not take it: {error}") from None
    free = overrides()
    for name in FUNCTIONS:
        if name != "all_reduce" and (by.algorithms[name], by.protocols[name]) != (
            free.algorithms[name],
            free.protocols[name],
        ):
            raise NotYetError(f"It changes {name}, too. Hint: an entry may begin with the name of a collective.")
    for nbytes in TARGETS:
        plain = _on_four(nbytes)
        try:
            factor = overridden(plain, by).seconds / plain.seconds
        except OverrideError as error:
            raise NotYetError(str(error)) from None
        _within(nbytes, plain.seconds, factor)


def _on_four(nbytes: int) -> Choice:
    return predict("all_reduce", nbytes, MACHINES["HGX-B200"], 4, "2.29.2")


def _within(nbytes: int, seconds: float, factor: float) -> None:
    where = (
        f"At {nbytes_text(nbytes)} we expect {seconds_text(seconds * factor)} with it, {seconds_text(seconds)} without."
    )
    if nbytes == 2**23 and factor > 0.9:
        raise NotYetError(f"{where} Hint: which candidate would you rather have there?")
    if factor > 1.1:
        raise NotYetError(f"{where} Hint: what did your list take away at this size?")
