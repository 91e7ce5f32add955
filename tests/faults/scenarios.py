"""The fault matrix as data: what goes wrong in a cell, and what its error says, word for word.

Four ranks, a deadline of 2 s in a collective. `says` is the whole message. Its last line may be "others: " and an
operation: then every rank not named before was cut off in it, and either still waits there or has lost a peer.
"""

from __future__ import annotations

from typing import NamedTuple


class Scenario(NamedTuple):
    """One row. warm: the ranks live on, the same processes. prints: the end of what the cell prints, where that matters."""

    name: str
    cell: str
    says: str
    warm: bool = False
    prints: str = ""


def victim(body: str, first: str = "x = torch.ones(1024)") -> str:
    """A cell: rank 3 does `body` at line 4 while the others wait at line 5 in an all_reduce of float32[1024]."""
    return f"def f():\n    {first}\n    if dist.get_rank() == 3:\n        {body}\n    dist.all_reduce(torch.ones(1024))\nr.run(f)"


def everyone(*lines: str) -> str:
    """A cell: all ranks do `lines`, from line 4; x is a tensor, `last` is true on rank 3."""
    head = ["def f():", "    x, rank = torch.ones(1024), dist.get_rank()", "    last = rank == 3"]
    return "\n".join([*head, *(f"    {line}" for line in lines), "r.run(f)"])


REDUCING = "all_reduce #1 of float32[1024]"
WAITING = f"ranks 0-2: waiting in {REDUCING} at cell line 5"
CUT_OFF = f"others: {REDUCING} at cell line 5"
STUCK = "RankError: no progress for 2 s"
LACKS_3 = f"{STUCK}: rank 3 has not reached {REDUCING}"


def raised(body: str, text: str, **more) -> tuple[str, str]:
    """Rank 3 raises at line 4: the cell and its error."""
    return victim(body, **more), f'RankError: rank 3 raised {text}\n  File "cell", line 4, in f\n    {body}\n{WAITING}'


RAISED = [
    Scenario("one rank raises", *raised("raise ValueError('boom')", "ValueError: boom")),
    Scenario(
        "two ranks raise",
        everyone("if rank in (1, 3): raise ValueError(rank)", "dist.all_reduce(x)"),
        'RankError: rank 1 raised ValueError: 1\n  File "cell", line 4, in f\n    if rank in (1, 3): raise ValueError(rank)\n'
        f"{WAITING.replace('0-2', '0, 2')}\nrank 3: raised ValueError: 3",
    ),
    Scenario(
        "all ranks raise",
        "def f():\n    raise ValueError('boom')\nr.run(f)",
        "RankError: ranks 0-3 raised ValueError: boom\n  File \"cell\", line 2, in f\n    raise ValueError('boom')",
        warm=True,
    ),
    Scenario(
        "an exception that cannot be pickled",
        *raised("raise Odd('odd')", "Odd: odd", first="class Odd(Exception): __reduce__ = lambda self: 1 / 0"),
    ),
    Scenario(
        "an exception whose text cannot be made",
        *raised(
            "raise Mute()",
            "Mute: <its text cannot be made: ZeroDivisionError>",
            first="class Mute(Exception): __str__ = lambda self: 1 / 0",
        ),
    ),
    Scenario(
        "an exception whose text ends the process",
        victim("raise Mute()", first="class Mute(Exception): __str__ = lambda self: os._exit(3)"),
        f"RankError: rank 3 exited with code 3 before it was done\n{CUT_OFF}",
    ),
    Scenario(
        "a group of exceptions",
        *raised("raise ExceptionGroup('two', [ValueError(), KeyError()])", "ExceptionGroup: two (2 sub-exceptions)"),
    ),
    Scenario("sys.exit(0)", *raised("sys.exit(0)", "SystemExit: 0")),
    Scenario("a KeyboardInterrupt of the code's own", *raised("raise KeyboardInterrupt", "KeyboardInterrupt")),
    Scenario("out of memory", *raised("bytearray(1 << 60)", "MemoryError")),
    Scenario(
        "input() in a rank",
        "def f(): input()\nr.run(f)",
        'RankError: ranks 0-3 raised EOFError: EOF when reading a line\n  File "cell", line 1, in f\n    def f(): input()',
        warm=True,
    ),
    Scenario(
        "nested ranks",
        "def f(): Ranks(2)\nr.run(f)",
        "RankError: ranks 0-3 raised RuntimeError: a rank cannot start ranks of its own: call Ranks in the notebook\n"
        '  File "cell", line 1, in f\n    def f(): Ranks(2)',
        warm=True,
    ),
]

DIED = [
    Scenario("SIGKILL", victim("os.kill(os.getpid(), signal.SIGKILL)"), f"RankError: rank 3 died: SIGKILL\n{CUT_OFF}"),
    Scenario("SIGSEGV", victim("ctypes.string_at(0)"), f"RankError: rank 3 died: SIGSEGV at cell line 4\n{CUT_OFF}"),
    Scenario("SIGABRT", victim("os.abort()"), f"RankError: rank 3 died: SIGABRT at cell line 4\n{CUT_OFF}"),
    Scenario("SIGTERM", victim("os.kill(os.getpid(), signal.SIGTERM)"), f"RankError: rank 3 died: SIGTERM\n{CUT_OFF}"),
    *(
        Scenario(name, victim(name), f"RankError: rank 3 exited with code {code} before it was done\n{CUT_OFF}")
        for name, code in [("os._exit(0)", 0), ("os._exit(7)", 7), ("ctypes.CDLL(None).exit(0)", 0)]
    ),
    Scenario(
        "death in __del__",
        victim("A()", first="class A: __del__ = lambda self: os.kill(os.getpid(), signal.SIGKILL)"),
        f"RankError: rank 3 died: SIGKILL\n{CUT_OFF}",
    ),
    Scenario(
        "two ranks die at once, each in its own way",
        everyone("if rank in (1, 3): os._exit(rank)", "dist.all_reduce(x)"),
        "RankError: rank 1 exited with code 1 before it was done\n"
        f"rank 3: exited with code 3 before it was done\n{CUT_OFF}",
    ),
    Scenario(
        "three ranks die at once",
        everyone("if rank != 2: os.kill(os.getpid(), signal.SIGKILL)", "dist.all_reduce(x)"),
        f"RankError: ranks 0, 1, 3 died: SIGKILL\n{CUT_OFF}",
    ),
    Scenario(
        "all ranks die",
        "r.run(lambda: os._exit(0))",
        "RankError: ranks 0-3 exited with code 0 before it was done",
    ),
    Scenario(
        "one rank dies, another raises",
        everyone("if rank == 0: raise ValueError('first')", "if rank < 3: dist.all_reduce(x)", "os._exit(7)"),
        "RankError: rank 3 exited with code 7 before it was done\nrank 0: raised ValueError: first\n" + CUT_OFF,
    ),
]

STUCK_OR_DIFFERENT = [
    Scenario(
        "early return while others wait",
        victim("return"),
        f"RankError: rank 3 finished without entering {REDUCING}\nranks 0-2 waiting in {REDUCING} at cell line 5\n"
        "rank 3: finished",
    ),
    Scenario(
        "a skipped collective",
        victim("time.sleep(600)"),
        f"{LACKS_3}\nranks 0-2 waiting in {REDUCING} at cell line 5\nrank 3: running at cell line 4",
    ),
    Scenario(
        "a skipped collective, the GIL held",
        victim("sum(range(10**12))"),
        f"{LACKS_3}\nranks 0-2 waiting in {REDUCING} at cell line 5\nrank 3: running at cell line 4",
    ),
    Scenario(
        "a rank stopped by SIGSTOP",
        victim("os.kill(os.getpid(), signal.SIGSTOP)"),
        f"{LACKS_3}\nranks 0-2 waiting in {REDUCING} at cell line 5\nrank 3: stopped by a signal",
    ),
    Scenario(
        "another operation",
        everyone("for _ in range(3): dist.all_reduce(x)", "if last: dist.broadcast(x, 0)", "else: dist.all_reduce(x)"),
        "RankError: ranks 0-2 are in all_reduce #4 of float32[1024] (cell line 6), "
        "rank 3 in broadcast #4 of float32[1024] root 0 (cell line 5)\n"
        "ranks 0-2: waiting in all_reduce #4 of float32[1024] at cell line 6\n"
        "rank 3: waiting in broadcast #4 of float32[1024] root 0 at cell line 5",
    ),
    Scenario(
        "another size",
        everyone("dist.all_reduce(x[:512] if last else x)"),
        "RankError: sizes differ in all_reduce #1: ranks 0-2 have float32[1024] (cell line 4), "
        "rank 3 float32[512] (cell line 4)\n"
        f"rank 3: died: SIGABRT in all_reduce #1 of float32[512] at cell line 4\n{CUT_OFF.replace('5', '4')}",
    ),
    Scenario(
        "another type",
        everyone("dist.all_reduce(x.int() if last else x)"),
        "RankError: types differ in all_reduce #1: ranks 0-2 have float32[1024] (cell line 4), "
        "rank 3 int32[1024] (cell line 4)\n"
        "ranks 0-3: finished",
    ),
    Scenario(
        "another root",
        everyone("dist.broadcast(x, 1 if last else 0)"),
        "RankError: roots differ in broadcast #1 of float32[1024]: ranks 0-2 have root 0 (cell line 4), "
        "rank 3 root 1 (cell line 4)\nranks 0-3: finished",
    ),
    Scenario(
        "another reduction",
        everyone("dist.all_reduce(x, dist.ReduceOp.MAX if last else dist.ReduceOp.SUM)"),
        f"RankError: reductions differ in {REDUCING}: ranks 0-2 have sum (cell line 4), "
        "rank 3 max (cell line 4)\nranks 0-3: finished",
    ),
    Scenario(
        "another order",
        everyone("if last: dist.broadcast(x, 0)", "dist.all_reduce(x)", "if not last: dist.broadcast(x, 0)"),
        f"RankError: ranks 0-2 are in {REDUCING} (cell line 5), "
        "rank 3 in broadcast #1 of float32[1024] root 0 (cell line 4)\n"
        f"{WAITING}\nrank 3: waiting in broadcast #1 of float32[1024] root 0 at cell line 4",
    ),
    Scenario(
        "a barrier against an all_reduce",
        everyone("dist.barrier() if last else dist.all_reduce(x)"),
        f"RankError: ranks 0-2 are in {REDUCING} (cell line 4), rank 3 in barrier #1 (cell line 4)\n"
        f"{WAITING.replace('5', '4')}\nrank 3: waiting in barrier #1 at cell line 4",
    ),
    Scenario(
        "two groups in different order",
        everyone(
            "g, h = dist.new_group([0, 1]), dist.new_group([0, 1])",
            "if rank < 2: dist.all_reduce(x, group=h if rank else g)",
            "if rank < 2: dist.all_reduce(x, group=g if rank else h)",
        ),
        f"{STUCK}: ranks 0, 1 entered groups in different order: "
        f"rank 0 is in {REDUCING} in the group of ranks 0, 1 (cell line 5), "
        f"rank 1 in {REDUCING} in another group of ranks 0, 1 (cell line 5)\n"
        f"ranks 0, 1 waiting in {REDUCING} in the group of ranks 0, 1 at cell line 5\nranks 2, 3: finished",
    ),
    Scenario(
        "a send that nobody receives",
        everyone("y = torch.ones(1 << 22)", "if rank == 0: dist.send(y, 1)", "if rank == 1: dist.recv(y, 2)"),
        "RankError: rank 1 waits to receive from rank 2, which has finished\n"
        "rank 0 waiting in send to rank 1 of float32[4194304] at cell line 5\n"
        "rank 1: waiting in recv from rank 2 of float32[4194304] at cell line 6\nranks 2, 3: finished",
    ),
    Scenario(
        "a send with another tag",
        everyone("if rank == 0: dist.send(x, 1, tag=7)", "if rank == 1: dist.recv(x, 0)"),
        f"{STUCK}: tags differ: rank 0 waits to send to rank 1 with tag 7, rank 1 waits to receive from rank 0\n"
        "rank 0 waiting in send to rank 1 with tag 7 of float32[1024] at cell line 4\n"
        "rank 1: waiting in recv from rank 0 of float32[1024] at cell line 5\nranks 2, 3: finished",
    ),
    Scenario(
        "a send of more than there is room for",
        everyone("if rank == 0: dist.send(x, 1)", "if rank == 1: dist.recv(x[:512], 0)"),
        "RankError: sizes differ: rank 0 sends float32[1024] to rank 1 (cell line 4), "
        "which receives float32[512] (cell line 5)\nranks 0, 2, 3: finished\n"
        "rank 1: died: SIGABRT in recv from rank 0 of float32[512] at cell line 5",
    ),
    Scenario(
        "a send of less than is expected",
        everyone("if rank == 0: dist.send(x[:512], 1)", "if rank == 1: dist.recv(x, 0)"),
        "RankError: sizes differ: rank 0 sends float32[512] to rank 1 (cell line 4), "
        "which receives float32[1024] (cell line 5)\nranks 0-3: finished",
    ),
    Scenario(
        "a send that nobody waits for",
        everyone("if rank == 0: dist.isend(x, 1)"),
        "RankError: rank 1 finished without receiving what it was sent by rank 0: float32[1024] (cell line 4)\n"
        "ranks 0-3: finished",
    ),
    Scenario(
        "receives in a circle",
        everyone("dist.recv(x, (rank + 1) % 4)"),
        f"{STUCK}: rank 0 waits to receive from rank 1, rank 1 from rank 2, rank 2 from rank 3, "
        "rank 3 from rank 0: a circle\nrank 0 waiting in recv from rank 1 of float32[1024] at cell line 4\n"
        + "\n".join(
            f"rank {r}: waiting in recv from rank {(r + 1) % 4} of float32[1024] at cell line 4" for r in (1, 2, 3)
        ),
    ),
    Scenario(
        "a receive against an all_reduce",
        everyone("if last: dist.recv(x, 0)", "dist.all_reduce(x)"),
        f"{STUCK}: rank 0 waits in all_reduce #1 for rank 3, rank 3 waits to receive from rank 0: a circle\n"
        f"ranks 0-2 waiting in {REDUCING} at cell line 5\n"
        "rank 3: waiting in recv from rank 0 of float32[1024] at cell line 4",
    ),
    Scenario(
        "a member leaves its group",
        everyone("g = dist.new_group([1, 3])", "if rank == 1: dist.all_reduce(x, group=g)"),
        f"RankError: rank 3 finished without entering {REDUCING} in the group of ranks 1, 3\n"
        f"rank 1 waiting in {REDUCING} in the group of ranks 1, 3 at cell line 5\nranks 0, 2, 3: finished",
    ),
    Scenario(
        "a handle that nobody else answers",
        everyone("if not last:", "    dist.all_reduce(x, async_op=True).wait()"),
        f"RankError: rank 3 finished without entering {REDUCING}\nranks 0-2 waiting in {REDUCING} at cell line 5\n"
        "rank 3: finished",
    ),
    Scenario(
        "a handle that nobody waits on",
        everyone("if not last: dist.all_reduce(x, async_op=True)"),
        f"RankError: rank 3 finished without entering {REDUCING}, which ranks 0-2 entered (cell line 4)\n"
        "ranks 0-3: finished",
    ),
]
