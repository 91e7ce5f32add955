"""The grammar of counts, as numbers.mjs has it, so that a widget says without a kernel what it says with one."""

from collections.abc import Sequence


def counted(n: int, one: str, more: str = "") -> str:
    """ "1 step", "2 steps"; more: the plural where it is not the word with an s."""
    return f"{n} {one if n == 1 else more or f'{one}s'}"


def listed(words: Sequence[str]) -> str:
    """ "slots, registers and shared memory"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
