"""Sends held against their receives: sizes, types, and messages that nobody took."""

from __future__ import annotations

import pytest
import reported
import torch
import torch.distributed as dist
from played import Op, Play, Program, Step

from helpers.ranks import RankError
from helpers.ranks.notes import notes
from helpers.ranks.notes.envelopes import Peer


def message(sends: bool, rank: int | None, what: str = "float32[4]", tag: int = 0, kind: str = "do") -> Step:
    return Step(kind, Op("send" if sends else "recv", what, "", (Peer(sends, rank, tag),)), handle=1)


def send(*given, **more) -> Step:
    return message(True, *given, **more)


def recv(*given, **more) -> Step:
    return message(False, *given, **more)


def played(*ranks: Program) -> Play:
    play = Play(list(ranks))
    for _ in play.steps():
        pass
    return play


def total(play: Play) -> int:
    return sum(notes.read_messages(region) for region in play._regions) % 2**32


@pytest.mark.parametrize(
    "sent, received, said",
    [
        ("float32[4]", "float32[8]", "sizes"),
        ("float32[8]", "float32[4]", "sizes"),
        ("float32[4]", "int32[4]", "types"),
        ("bool[9]", "int16[8]", "sizes"),
        ("int64[2]", "uint8[16]", None),
        ("float8_e4m3fn[4]", "bool[4]", "types"),
        ("NoneType", "bool[4]", None),
    ],
)
def test_a_message_is_the_same_at_both_ends(sent, received, said):
    play = played([send(1, sent)], [recv(0, received)])
    text = f"rank 0 sends {sent} to rank 1 (cell line 7), which receives {received} (cell line 7)"
    assert reported.unfit(play.journals()) == (said and f"{said} differ: {text}")
    assert total(play) != 0, "the cheap look after a call sees it"


def test_the_first_belongs_to_the_first_and_tags_keep_apart():
    sends = [send(1, "float32[3]", tag=7, kind="launch"), send(1, "float32[1]"), send(1, "float32[2]")]
    fine = played(sends, [recv(0, "float32[1]"), recv(0, "float32[3]", tag=7), recv(0, "float32[2]")])
    assert reported.unfit(fine.journals()) is reported.left_over(fine.journals()) is None and total(fine) == 0
    wrong = played(sends[1:], [recv(0, "float32[2]"), recv(0, "float32[1]")])
    assert reported.unfit(wrong.journals()).startswith("sizes differ: rank 0 sends float32[1]")


def test_two_wrong_messages_do_not_make_a_right_sum():
    play = played([send(1, "int8[4]"), recv(1, "int8[4]")], [recv(0, "int8[8]"), send(0, "int8[8]")])
    assert total(play) != 0 and reported.unfit(play.journals())


def test_batches_keep_their_tensors():
    def around(rank: int, what: str) -> Program:
        peers = Peer(True, 1 - rank, 0, "float32[4]"), Peer(False, 1 - rank, 0, what)
        return [Step("do", Op("batch_isend_irecv", peers=peers))]

    assert total(played(around(0, "float32[4]"), around(1, "float32[4]"))) == 0
    wrong = played(around(0, "float32[4]"), around(1, "float32[2]"))
    assert reported.unfit(wrong.journals()).startswith("sizes differ: rank 0 sends float32[4] to rank 1 (cell line 7)")


def test_nothing_is_said_beside_a_receive_from_anyone():
    for receives in ([recv(None), recv(0, "int8[1]")], [recv(0, "int8[1]", kind="launch"), recv(None)]):
        play = played([send(1), send(1, "int8[1]")], receives)
        assert reported.unfit(play.journals()) is reported.left_over(play.journals()) is None
    long_ago = played(
        [send(1, f"int8[{i}]") for i in range(100)], [recv(None), *(recv(0, f"int8[{i}]") for i in range(1, 100))]
    )
    assert len(long_ago.gone) == 2 and reported.unfit(long_ago.journals()) is None, (
        "its note is overwritten, not forgotten"
    )


def test_what_nobody_took_is_named():
    left = played([send(1, kind="launch")], [])
    assert reported.left_over(left.journals()) == (
        "rank 1 finished without receiving what it was sent by rank 0: float32[4] (cell line 7)"
    )
    wanted = played([], [recv(0, kind="launch")])
    assert reported.left_over(wanted.journals()) == (
        "rank 0 finished without sending what is received by rank 1: float32[4] (cell line 7)"
    )
    assert total(left) and total(wanted)


def sends_less():
    if dist.get_rank() == 0:
        dist.send(torch.ones(4), 1)
    else:
        dist.recv(torch.empty(8), 0)


def sends_into_the_void():
    if dist.get_rank() == 0:
        dist.isend(torch.ones(4), 1)


def exchanges() -> list[float]:
    other, got = 1 - dist.get_rank(), torch.empty(4)
    work = dist.isend(torch.full((4,), float(dist.get_rank())), other, tag=3)
    dist.recv(got, other, tag=3)
    work.wait()
    swap = [dist.P2POp(dist.isend, got + 1, other), dist.P2POp(dist.irecv, got, other)]
    for work in dist.batch_isend_irecv(swap):
        work.wait()
    return got.tolist()


def takes_from_anyone() -> int:
    return dist.recv(torch.empty(4)) if dist.get_rank() == 0 else dist.send(torch.ones(4), 0)


def test_on_real_ranks(two):
    with pytest.raises(
        RankError,
        match=r"^sizes differ: rank 0 sends float32\[4\] to rank 1 \(test_message_reports.py line \d+\), which",
    ):
        two.run(sends_less)
    with pytest.raises(
        RankError, match=r"^rank 1 finished without receiving what it was sent by rank 0: float32\[4\] \(test"
    ):
        two.run(sends_into_the_void)
    assert two.run(exchanges) == [[1.0] * 4, [2.0] * 4]
    assert sum(notes.read_messages(member.region) for member in two._team.members) % 2**32 == 0
    assert two.run(takes_from_anyone) == [1, None]
