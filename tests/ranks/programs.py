"""Random programs for played ranks: healthy ones, and the same with one mistake of one rank."""

from __future__ import annotations

import random

from played import Op, Program, Step

from helpers.ranks.notes.envelopes import Peer, pack_group, unpack_group

COLLECTIVES = [
    ("all_reduce", "float32[8]"),
    ("broadcast", "float32[8] root 0"),
    ("barrier", ""),
    ("all_gather", "int64[2]"),
]
MATCHED = ("collective", "collective", "message", "message", "ring")
KINDS = (*MATCHED, "anyone")  # whose message such a receive takes cannot always be told
FROM_ANYONE = 99  # a tag of its own, so that such a receive takes nobody else's message


def healthy(seed: int, kinds: tuple[str, ...] = KINDS) -> list[Program]:
    """All ranks follow one common order of events, each doing its own part: that cannot deadlock."""
    rng = random.Random(seed)
    nranks = rng.choice([2, 3, 4])
    groups = ["", *(pack_group(str(i), sorted(rng.sample(range(nranks), rng.randint(2, nranks)))) for i in range(1, 4))]
    programs: list[Program] = [[] for _ in range(nranks)]
    for event in range(rng.choice([3, 8, 20, 120])):
        for rank, op in _event(rng, kinds, nranks, groups).items():
            launch = rng.random() < 0.3
            programs[rank].append(Step("launch" if launch else "do", op, event))
    for program in programs:
        _wait_for_launched(rng, program)
    return programs


def broken(seed: int, kinds: tuple[str, ...] = KINDS) -> list[Program]:
    """One rank leaves a step out, does two in the other order, or does one differently."""
    rng = random.Random(seed)
    programs = healthy(seed, kinds)
    rank = rng.randrange(len(programs))
    program = programs[rank]
    places = [i for i, step in enumerate(program) if step.kind == "do"]
    if not places:
        return programs
    place = rng.choice(places)
    mistake = rng.choice(["leave out", "swap", "differ"])
    if mistake == "leave out":
        del program[place]
    elif mistake == "swap" and place + 1 < len(program):
        program[place : place + 2] = program[place + 1], program[place]
    else:
        program[place] = Step("do", _different(rng, program[place].op, [r for r in range(len(programs)) if r != rank]))
    return programs


def _wait_for_launched(rng: random.Random, program: Program) -> None:
    """Somewhere after the launch; now and then never."""
    for step in [step for step in program if step.kind == "launch"]:
        if rng.random() < 0.9:
            place = rng.randint(program.index(step) + 1, len(program))
            program.insert(place, Step("wait", None, step.handle))


def _event(rng: random.Random, kinds: tuple[str, ...], nranks: int, groups: list[str]) -> dict[int, Op]:
    """Who does what in one event."""
    kind = rng.choice(kinds)
    group, tag = rng.choice(groups), rng.choice([0, 0, 5])
    if kind == "collective":
        return dict.fromkeys(unpack_group(group).ranks or range(nranks), Op(*rng.choice(COLLECTIVES), group))
    if kind == "ring":
        around = {rank: (Peer(True, (rank + 1) % nranks), Peer(False, (rank - 1) % nranks)) for rank in range(nranks)}
        return {rank: Op("batch_isend_irecv", peers=peers) for rank, peers in around.items()}
    src, dst = rng.sample(unpack_group(group).ranks or range(nranks), 2)
    tag, source = (FROM_ANYONE, None) if kind == "anyone" else (tag, src)
    send = Op("send", "float32[4]", group, (Peer(True, dst, tag),))
    return {src: send, dst: Op("recv", "float32[4]", group, (Peer(False, source, tag),))}


def _different(rng: random.Random, op: Op, others: list[int]) -> Op:
    if not op.peers:
        return op._replace(**rng.choice([{"name": "reduce", "agreed": "x[1] root 0"}, {"agreed": "float64[9]"}]))
    peer, *rest = op.peers
    changes = [{"rank": rng.choice(others)}, {"tag": 77}, {"rank": rng.choice(others), "sends": not peer.sends}]
    return op._replace(peers=(peer._replace(**rng.choice(changes)), *rest))
