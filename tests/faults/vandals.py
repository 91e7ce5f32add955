"""The fault matrix, third part: ranks that break what they stand on: their stack, streams, descriptors, pipes, memory."""

from __future__ import annotations

from pickles import ON_THEIR_WAY
from scenarios import REDUCING, Scenario, victim

MUTE = (  # a socket without a port is the pipe of the calls
    "for fd in map(int, os.listdir('/proc/self/fd')):\n"
    "            try: family = socket.socket(fileno=os.dup(fd)).family\n"
    "            except OSError: continue\n"
    "            if family == socket.AF_UNIX: os.close(fd)\n"
    "        time.sleep(600)"
)

VANDALS = [
    Scenario(
        "a recursion without end",
        "def g():\n    def f(n): return f(n + 1)\n    f(0)\nr.run(g)",
        "RankError: ranks 0-3 raised RecursionError: maximum recursion depth exceeded\n"
        '  File "cell", line 3, in g\n    f(0)\n'
        + '  File "cell", line 2, in f\n    def f(n): return f(n + 1)\n' * 3
        + "  [Previous line repeated 988 more times]",
        warm=True,
    ),
    Scenario(
        "a result nested too deeply to be sent",
        "def f():\n    x = []\n    for _ in range(100_000): x = [x]\n    return x\nr.run(f)",
        "RankError: ranks 0-3 raised PicklingError: Could not pickle object as excessively deep recursion required.",
        warm=True,
    ),
    Scenario(
        "sys.stdout.close()",
        "r.run(lambda: (print('last words'), sys.stdout.close()) and None)\nr.run(print, 'again')",
        "",
        warm=True,
        prints="".join(f"[rank {rank}] again\n" for rank in range(4)),
    ),
    Scenario(
        "the pipe of the calls closed",
        "import socket\n" + victim(MUTE),
        f"RankError: no pipe leads to rank 3 any more: rank 3 has not reached {REDUCING}\n"
        f"ranks 0-2 waiting in {REDUCING} at cell line 10\nrank 3: running at cell line 9",
    ),
    Scenario(
        "an argument of 100 MB for a rank that is stopped",
        "x = torch.ones(25_000_000)\nos.kill(r.run(os.getpid)[3], signal.SIGSTOP)\nr.run(lambda x: x.sum().item(), x)",
        f"RankError: rank 3 stopped by a signal more than 2 s ago\nrank 3 stopped by a signal\nothers: {ON_THEIR_WAY}",
    ),
]
