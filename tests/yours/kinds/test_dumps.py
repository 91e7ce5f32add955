"""Dumps of the flight recorder: who is accused, and who only waits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.yours import is_my_number_good

sys.path.append(str(Path(__file__).parents[2] / "nccl" / "output"))

from test_flight_recorder import dump, entry

TWO = {name: {"name": name, "desc": "", "ranks": ranks} for name, ranks in (("0", "[0, 1, 2]"), ("1", "[1, 2]"))}
SENT = {"is_p2p": True, "p2p_seq_id": 1}
DONE, WAITS = entry(0, 1), entry(1, 2, "scheduled")
QUEUE = [entry(k, k + 1, "scheduled") for k in range(1, 40)]
RECEIVES = entry(1, 1, "scheduled", op="recv 1<-0", **SENT)
SENDS = entry(1, 1, "scheduled", op="send 0->1", **SENT)
CASES = {  # dumps of ranks 0 to 2; who is accused, and words of the first cause
    "one is behind": (
        [dump(DONE, WAITS)] * 2 + [dump(DONE)],
        ["missing rank"],
        "rank 2 has not come; the last of rank 2 is all_reduce #1",
    ),
    "a long queue is one cause": (
        [dump(DONE, *QUEUE)] * 2 + [dump(DONE)],
        ["missing rank"],
        "wait in all_reduce #2 of",
    ),
    "all came": ([dump(DONE, WAITS)] * 3, ["all waiting"], "ranks 0, 1 and 2 all came to all_reduce #2"),
    "it is over on one": (
        [dump(DONE, WAITS)] * 2 + [dump(DONE, entry(1, 2))],
        [],
        "all_reduce #2 is over on rank 2 and not on",
    ),
    "a broadcast is over on its root": (
        *([dump(entry(0, 1, "scheduled", op="broadcast"))] * 2 + [dump(entry(0, 1, op="broadcast"))], ["all waiting"]),
        "all came to broadcast #1",
    ),
    "nobody waits": ([dump(DONE)] * 3, [], ""),
    "who waits himself comes after": (
        [
            dump(DONE, WAITS, pg_config=TWO),
            dump(DONE, entry(1, 1, "scheduled", group="1"), pg_config=TWO),
            dump(DONE, pg_config=TWO),
        ],
        ["missing rank", "missing rank"],
        "rank 1 waits in all_reduce #1 of group '1'; rank 2 has not come; the last of rank 2 is all_reduce #1",
    ),
    "a group that no dump tells": (
        [dump(DONE, *more, pg_config={}) for more in ([entry(1, 1, "scheduled", group="1")], [], [])],
        ["missing rank"],
        "rank 0 waits in all_reduce #1 of group '1', whose ranks no dump tells; ranks 1 and 2 did not come to it, or did not",
    ),
    "a receive that nobody answers": (
        [dump(DONE), dump(DONE, RECEIVES), dump(DONE)],
        ["missing rank"],
        "waits in recv #1 from rank 0",
    ),
    "a message on its way": (
        [dump(DONE, SENDS), dump(DONE, RECEIVES), dump(DONE)],
        ["all waiting"],
        "all came to send #1",
    ),
    "another size": (
        [dump(entry(0, 1, "scheduled", size=(n,))) for n in (4, 4, 2)],
        ["ranks disagree"],
        "number 1 of group '0' is not the same call everywhere",
    ),
    "no dump of one": (
        [dump(DONE, WAITS)] * 2,
        ["no dump"],
        "there is no dump of rank 2, and ranks 0 and 1 wait in all_reduce #2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_who_is_accused(name):
    dumps, accused, said = CASES[name]
    found = is_my_number_good(dumps)
    assert list(found.accused) == accused
    assert said in (found.causes[0].why if found.causes else "")


def test_of_a_backend_that_never_tells_an_end():
    """As torch 2.15.0 wrote of a backend of one's own around Gloo, while two ranks of three hung: all that was issued is retired."""
    made = [entry(k, k + 1, "scheduled", backend="mine", retired=True) for k in range(3)]
    found = is_my_number_good([str(dump(*made)), str(dump(*made)), str(dump(*made[:2]))])
    assert found.accused == ("missing rank",)
    assert "anks 0 and 1 wait in all_reduce #3" in found.sentence
    assert "the last of rank 2 is all_reduce #2" in found.sentence
    same = is_my_number_good([str(dump(*made))] * 3)
    assert same.accused == () and "backend mine does not tell" in same.sentence


@pytest.mark.parametrize("backend", ["nccl2", "nccl-lazy", "gloo"])
def test_of_every_backend_that_has_no_events(backend):
    over = entry(0, 1, "scheduled", backend=backend, retired=True)
    waits = entry(1, 2, "scheduled", backend=backend)
    found = is_my_number_good([str(dump(over, waits)), str(dump(over, waits)), str(dump(over))])
    assert found.accused == ("missing rank",) and "rank 2 has not come" in found.sentence
