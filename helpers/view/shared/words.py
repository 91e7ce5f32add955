"""The grammar of counts, as numbers.mjs has it, so that a widget says without a kernel what it says with one."""


def counted(n: int, one: str, more: str = "") -> str:
    """ "1 step", "2 steps"; more: the plural where it is not the word with an s."""
    return f"{n} {one if n == 1 else more or f'{one}s'}"
