"""What four ranks, or the notebook, are doing when an interrupt or a shot comes. Every cell prints four times `ready` first."""

from __future__ import annotations

_IN_RANKS = {
    "in C++": "dist.recv(torch.ones(4), (dist.get_rank() + 1) % dist.get_world_size())",
    "holding the GIL": "sum(range(10**12))",
    "in Python": "while True: pass",
    "in collectives": "while True: dist.all_reduce(torch.ones(4))",
    "asleep": "time.sleep(600)",
    "printing": "while True: print('x' * 99)",
    "emitting": "while True: emit('')",
    "sending 1 GB": "return bytes(10**9)",
    "without their pipes": "for fd in range(3, 99):\n"  # not even the one that ends them with the notebook
    "        if 'pipe:' in os.path.realpath(f'/proc/self/fd/{fd}'): os.close(fd)\n"
    "    time.sleep(600)",
}
_IN_THE_NOTEBOOK = {
    "reading results": "def late(): print('ready ' * 4, flush=True); time.sleep(600)\n"
    "class A: __reduce__ = lambda self: (late, ())\nr.run(lambda: A())",
    "in a callback": "def say(rank, what): print('ready ' * 4, flush=True); time.sleep(600)\n"
    "r.run(lambda: emit('ready'), on_emit=say)",
    "packing an argument": "class A: __reduce__ = lambda self: (print('ready ' * 4, flush=True), time.sleep(600))\n"
    "r.run(print, A())",
}
BUSY = {
    state: f"def note(rank, what): print(what, end='', flush=True)\ndef f():\n    emit('ready ')\n    {body}\nr.run(f, on_emit=note)"
    for state, body in _IN_RANKS.items()
} | _IN_THE_NOTEBOOK


# Pools that each hold on in a way of their own, while the notebook's ranks have closed the pipe that would end them with it.
_BEHIND = ("in C++", "holding the GIL")
SEVERAL = (
    "behind, there = [Ranks(2, backend='gloo') for _ in range(3)], threading.Semaphore(0)\n"
    + "".join(
        f"def f():\n    emit(1)\n    {_IN_RANKS[state]}\n"
        f"call_{i} = behind[{i}].run_async(f, on_emit=lambda rank, what: there.release())\n"
        for i, state in enumerate(_BEHIND)
    )
    + f"for _ in range({2 * len(_BEHIND)}): there.acquire()\n"
)


def ready(text: str) -> bool:
    """All four are there."""
    return text.count("ready") >= 4
