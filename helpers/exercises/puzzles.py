"""The puzzles: schedules for the reader to write, each against a target of steps and bytes. Chapter: puzzles.

`puzzles.broadcast_rounds(my_broadcast)` or `solve("broadcast_rounds", my_broadcast)` answers with a `Score`. In the forms P is
the number of ranks, S that of chunks, G that of GPUs per node, N the bytes of the buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from helpers.collectives import Schedule
from helpers.collectives.forms import G, P, S, ceil, log2

from .puzzles_judge import Case, Puzzle, Score, Size
from .puzzles_rules import matching, one_chunk, one_port, two_trees

__all__ = ["PUZZLES", "Case", "Puzzle", "Score", "Size", "scoreboard", "solve"]

POWERS = (2, 4, 8, 16)
NO_POWERS = tuple(n for n in range(3, 16) if n & (n - 1))
LOG = ceil(log2(P))

broadcast_rounds = Puzzle(
    "broadcast_rounds",
    "A rumour",
    "broadcast",
    "Rank 0 holds the buffer. Bring it to everybody in as few steps as you can, when each rank has one port out and"
    " one in.",
    "Who has the buffer can send it on: the number of those who have it may double in every step.",
    LOG,
    LOG,
    "flat",
)
scatter_bytes = Puzzle(
    "scatter_bytes",
    "Hand it out",
    "scatter",
    "Rank 0 holds the buffer, and rank r needs chunk r only. As few steps as the broadcast, and no more bytes than "
    "must leave the root.",
    "Send to a rank only what it, and those whom it will serve, are to get: half of the chunks, then a quarter, and so on.",
    LOG,
    (P - 1) / P,
    "flat",
)
broadcast_pipeline = Puzzle(
    "broadcast_pipeline",
    "A pipeline",
    "broadcast",
    "The buffer is cut into S chunks and a message carries one of them. Get all of them from rank 0 to everybody, "
    "and let nobody pass more than one buffer.",
    "Stand in a line. While you receive a chunk, send on the one before.",
    P + S - 2,
    1,
    "binomial",
    nchunks=(1, 2, 8),
    rules=(one_port, one_chunk),
)
all_gather_doubling = Puzzle(
    "all_gather_doubling",
    "Double what you know",
    "all_gather",
    "Rank r holds chunk r, and everybody needs all of them. The ring takes P − 1 steps; for powers of two take the "
    "logarithm, and no more bytes.",
    "In step k exchange all you have with the rank whose number differs from yours in bit k.",
    LOG,
    (P - 1) / P,
    "ring",
    sizes=POWERS,
)
all_gather_any = Puzzle(
    "all_gather_any",
    "No partner needed",
    "all_gather",
    "The same for every P. With 3 or 6 ranks there is not always a partner with the other bit.",
    "You need not get it back from whom you send to. Send to rank r − d, receive from rank r + d, and count chunks from"
    " your own on.",
    LOG,
    (P - 1) / P,
    "ring",
)
reduce_scatter_any = Puzzle(
    "reduce_scatter_any",
    "The other way",
    "reduce_scatter",
    "Everybody holds a whole buffer, and rank r needs the sum of chunk r. As few steps and bytes as the gathering, "
    "for every P.",
    "Read an all_gather from its end, turn every arrow round, and add where it copied.",
    LOG,
    (P - 1) / P,
    "ring",
)
all_reduce_rounds = Puzzle(
    "all_reduce_rounds",
    "In a hurry",
    "all_reduce",
    "The sum on every rank in as few steps as a broadcast alone takes, for powers of two. Bytes are cheap today.",
    "Nobody has to be the root: partners can send each other their sums and both add.",
    LOG,
    LOG,
    "binomial",
    sizes=POWERS,
)
all_reduce_both = Puzzle(
    "all_reduce_both",
    "Few steps and few bytes",
    "all_reduce",
    "No more bytes than the ring, and no more steps than the tree, for powers of two.",
    "A reduce_scatter and an all_gather, each in the logarithm of P. Halve what you exchange on the way in, double "
    "it on the way out.",
    2 * LOG,
    2 * (P - 1) / P,
    "ring",
    sizes=POWERS,
)
all_reduce_six = Puzzle(
    "all_reduce_six",
    "Six ranks",
    "all_reduce",
    "The same where P is no power of two. The books fold the extra ranks into others first, and those then pass a "
    "whole buffer more.",
    "You have written both halves already, and they never needed a partner.",
    2 * LOG,
    2 * (P - 1) / P,
    "halving-doubling",
    sizes=NO_POWERS,
)
all_to_all_pairs = Puzzle(
    "all_to_all_pairs",
    "A tournament",
    "all_to_all",
    "Everybody has a chunk for everybody (chunk src * P + dst). In every step all ranks stand in pairs, and each "
    "pair exchanges.",
    "This is how a league plans its season: one team keeps its seat, all others move on by one after each round.",
    P - 1,
    (P - 1) / P,
    "flat",
    sizes=tuple(range(2, 17, 2)),
    rules=(one_port, matching),
)
all_reduce_switch = Puzzle(
    "all_reduce_switch",
    "A switch that adds",
    "all_reduce",
    "Place P is a switch: it starts empty, adds whatever many ranks send it, and can send to all of them at once. "
    "In S chunks, one to a message, can you move less than any ring?",
    "All ranks send chunk k up in step k. Links carry both ways at once, so the sum of chunk k − 1 can come down meanwhile.",
    S + 1,
    1,
    "ring",
    nchunks=(1, 2, 8),
    rules=(one_port, one_chunk),
    nswitches=1,
)
all_reduce_nodes = Puzzle(
    "all_reduce_nodes",
    "Two nodes of four",
    "all_reduce",
    "Ranks 0 to 3 share NVLink, ranks 4 to 7 too; between the two every GPU has a NIC. Beat the ring: fewer steps, "
    "and less through the busiest NIC.",
    "Add up inside first. What is left to exchange across is a quarter of the buffer for every GPU, and each GPU "
    "has a counterpart.",
    2 * (G - 1) + 2 * (P / G - 1),
    2 * (P - 1) / P,
    "ring",
    sizes=(8,),
    gpus=4,
    across=2 * (P / G - 1) / P,
)
broadcast_trees = Puzzle(
    "broadcast_trees",
    "Two trees",
    "broadcast",
    "In S chunks, one to a message: the even ones down one tree, the odd ones down another, and beside the root "
    "nobody passes on chunks of both. Nearly as few steps as a tree, and no more bytes than a line.",
    "In a binary tree half of the ranks are leaves. Shift the ranks by one, or mirror them, and leaves become inner"
    " ranks; then find a timetable.",
    2 * LOG + S - 2,
    1,
    "ring",
    nchunks=(2, 4, 8),
    rules=(one_port, one_chunk, two_trees),
)

PUZZLES: dict[str, Puzzle] = {name: value for name, value in globals().items() if isinstance(value, Puzzle)}


def solve(name: str, answer: Callable[..., Schedule]) -> Score:
    """The puzzle of that name on an answer. KeyError names those that there are."""
    if name not in PUZZLES:
        raise KeyError(f"no puzzle {name!r}: expected one of {', '.join(PUZZLES)}")
    return PUZZLES[name](answer)


def scoreboard(scores: Iterable[Score]) -> str:
    """One line for every puzzle, tried or not, and the sum; of several scores of a puzzle the best counts."""
    best: dict[str, int] = {}
    for score in scores:
        best[score.name] = max(score.points, best.get(score.name, 0))
    width = max(map(len, PUZZLES))
    rows = [f"{name:{width}}  {best.get(name, '-'):>4}" for name in PUZZLES]
    return "\n".join([*rows, f"{'of ' + str(100 * len(PUZZLES)):>{width}}  {sum(best.values()):>4}"])
