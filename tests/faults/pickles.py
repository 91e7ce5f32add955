"""The fault matrix, second half: what goes wrong on the way to a rank and back, and what is too large to be polite."""

from __future__ import annotations

from scenarios import Scenario

ON_THEIR_WAY = "taking the arguments, running, or sending the result"
DIVIDED = "ZeroDivisionError: division by zero"
HOW = {  # what happens to whoever pickles an A, or reads one back
    "raises when sent": "class A: __reduce__ = lambda self: 1 / 0",
    "exits when sent": "class A: __reduce__ = lambda self: sys.exit(3)",
    "dies when sent": "class A: __reduce__ = lambda self: os.kill(os.getpid(), signal.SIGKILL)",
    "crashes when sent": "class A: __reduce__ = lambda self: ctypes.string_at(0)",
    "raises when read": "class A: __reduce__ = lambda self: (divmod, (1, 0))",
    "exits when read": "class A: __reduce__ = lambda self: (sys.exit, (3,))",
    "dies when read": "die = lambda: os.kill(os.getpid(), signal.SIGKILL)\nclass A: __reduce__ = lambda self: (die, ())",
    "crashes when read": "class A: __reduce__ = lambda self: (ctypes.string_at, (0,))",
}
ARGUMENT, RESULT, EMIT = "r.run(print, A())", "r.run(lambda: A())", "r.run(lambda: emit(A()), on_emit=say)"
DIVMOD = "ZeroDivisionError: integer division or modulo by zero"


def row(what: str, call: str, how: str, says: str, warm: bool) -> Scenario:
    return Scenario(f"{what} that {how}", f"{HOW[how]}\n{call}", says, warm)


def frames(*places: tuple[int, str, str]) -> str:
    """A traceback's frames in a cell: (line, function, text)."""
    return "".join(f'\n  File "cell", line {line}, in {name}\n    {text}' for line, name, text in places)


def in_ranks(what: str, call: str, *above: tuple[int, str, str]) -> list[Scenario]:
    """An object pickled inside the ranks: a result, or something emitted."""
    raising, exiting = ((1, "<lambda>", HOW[how]) for how in ("raises when sent", "exits when sent"))
    return [
        row(what, call, "raises when sent", f"RankError: ranks 0-3 raised {DIVIDED}{frames(*above, raising)}", True),
        row(what, call, "exits when sent", f"RankError: ranks 0-3 raised SystemExit: 3{frames(*above, exiting)}", True),
        row(what, call, "dies when sent", "RankError: ranks 0-3 died: SIGKILL", False),
        row(what, call, "crashes when sent", "RankError: ranks 0-3 died: SIGSEGV at cell line 1", False),
    ]


# An argument that kills whoever pickles it, and a result that kills whoever reads it, kill the kernel: test_shot_kernels.py.
PICKLED = [
    row(
        "an argument",
        ARGUMENT,
        "raises when sent",
        f"PackError: argument 0 (a A) cannot be sent to the ranks: {DIVIDED}",
        True,
    ),
    row(
        "an argument",
        ARGUMENT,
        "exits when sent",
        "PackError: argument 0 (a A) cannot be sent to the ranks: SystemExit: 3",
        True,
    ),
    row("an argument", ARGUMENT, "raises when read", f"RankError: ranks 0-3 raised {DIVMOD}", True),
    row("an argument", ARGUMENT, "exits when read", "RankError: ranks 0-3 raised SystemExit: 3", True),
    row("an argument", ARGUMENT, "dies when read", "RankError: ranks 0-3 died: SIGKILL", False),
    row("an argument", ARGUMENT, "crashes when read", "RankError: ranks 0-3 died: SIGSEGV", False),
    *in_ranks("a result", RESULT),
    row("a result", RESULT, "raises when read", f"RankError: the result of rank 0 cannot be read back: {DIVMOD}", True),
    row(
        "a result",
        RESULT,
        "exits when read",
        "RankError: the result of rank 0 cannot be read back: SystemExit: 3",
        True,
    ),
    *in_ranks("something emitted", EMIT, (2, "<lambda>", EMIT)),
    row(
        "something emitted",
        EMIT,
        "raises when read",
        f"PackError: what rank RANK emitted cannot be read back: {DIVMOD}",
        False,
    ),
    row(
        "something emitted",
        EMIT,
        "exits when read",
        "PackError: what rank RANK emitted cannot be read back: SystemExit: 3",
        False,
    ),
    Scenario(
        "a callback that raises",
        "r.run(lambda: emit(1), on_emit=lambda rank, what: 1 / 0)",
        DIVIDED,
    ),
]

LARGE = [
    Scenario(
        "an argument of 100 MB",
        "x = torch.ones(25_000_000)\nprint(r.run(lambda x: x.sum().item(), x))",
        "",
        warm=True,
        prints="[25000000.0, 25000000.0, 25000000.0, 25000000.0]\n",
    ),
    Scenario(
        "results of 100 MB",
        "print([len(b) for b in r.run(lambda: bytes(100_000_000))])",
        "",
        warm=True,
        prints="[100000000, 100000000, 100000000, 100000000]\n",
    ),
    Scenario(
        "20 MB of prints on every rank",
        "r.run(lambda: print(('x' * 99 + '\\n') * 200_000 + 'the end'))",
        "",
        warm=True,
        prints=f"[rank 3] {'x' * 99}\n[rank 3] the end\n",
    ),
    Scenario(
        "40 MB emitted by every rank",
        "n = []\nr.run(lambda: [emit(bytes(10_000_000)) for _ in range(4)] and None, on_emit=lambda rank, b: n.append(len(b)))\n"
        "print(len(n), sum(n))",
        "",
        warm=True,
        prints="16 160000000\n",
    ),
    Scenario(
        "5000 small things emitted by every rank",
        "n = []\nr.run(lambda: [emit(i) for i in range(5000)] and None, on_emit=lambda rank, i: n.append(i))\n"
        "print(len(n), sum(n))",
        "",
        warm=True,
        prints="20000 49990000\n",
    ),
    Scenario(
        "a death while the others send 100 MB",
        "def f():\n    if dist.get_rank() == 3: os._exit(7)\n    return bytes(100_000_000)\nr.run(f)",
        f"RankError: rank 3 exited with code 7 before it was done\nothers: {ON_THEIR_WAY}",
    ),
    Scenario(
        "a death before an argument of 100 MB",
        "x = torch.ones(25_000_000)\nos.kill(r.run(os.getpid)[3], signal.SIGKILL)\nr.run(lambda x: time.sleep(600), x)",
        f"RankError: rank 3 died: SIGKILL\nothers: {ON_THEIR_WAY}",
    ),
]
