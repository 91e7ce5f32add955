"""Groups and peers in the little room of a note: nothing is cut in two, and everything comes back."""

from __future__ import annotations

import random

import pytest

from helpers.ranks.notes import envelopes
from helpers.ranks.notes.envelopes import Group, Peer, pack_group, pack_peers, peers_text, unpack_group, unpack_peers

GROUPS = {
    (0, 1): "1|0-1|",
    (3,): "1|3|",
    tuple(range(0, 64, 2)): "1|0-62:2|",
    (0, 1, 2, 8, 12, 16, 5): "1|0-2,8-16:4,5|",
    (7, 3): "1|7,3|",
}


@pytest.mark.parametrize("ranks, packed", GROUPS.items())
def test_a_group_travels_as_runs(ranks, packed):
    assert pack_group("1", ranks) == packed
    assert unpack_group(packed) == Group("1", ranks)


def test_any_ranks_come_back_or_are_left_out_whole():
    rng = random.Random(0)
    for _ in range(500):
        ranks = tuple(sorted(rng.sample(range(200), rng.randint(1, 60))))
        packed = pack_group("f" * 40, ranks, "dp")
        assert len(packed) <= envelopes.GROUP_ROOM and unpack_group(packed).ranks in (ranks, None)
    assert unpack_group(pack_group("f" * 40, range(1024))).ranks == tuple(range(1024))


def test_a_group_in_words():
    assert str(unpack_group("")) == ""
    assert str(unpack_group("1|0-2|")) == " in the group of ranks 0-2"
    assert str(unpack_group("1|2-3|dp")) == " in the group of ranks 2, 3 (mesh dim dp)"
    assert str(unpack_group("abc||")) == " in the group abc", "no room for its ranks"
    assert str(unpack_group("1|0-62:2|")) == " in the group of ranks 0, 2, 4, 6, 8, 10, 12, 14 and 24 more"


def test_peers_come_back():
    peers = (
        Peer(True, 1, 0, "bool[2]", 3),
        Peer(False, None, 7, "", 12),
        Peer(False, 1000, -1, "float8_e4m3fn[1]", 1, True),
    )
    assert pack_peers(peers) == ">1#3=bool[2],<*t7#12,<1000t-1#1~=float8_e4m3fn[1]"
    assert unpack_peers(pack_peers(peers)) == peers


def test_peers_that_have_no_room_are_marked():
    many = [Peer(True, rank, 0, "", 1) for rank in range(100)]
    packed = pack_peers(many)
    assert len(packed) <= envelopes.PEERS_ROOM and packed.endswith(",+")
    kept = unpack_peers(packed)
    assert list(kept) == many[: len(kept)] and len(kept) > 15
    assert peers_text("batch_isend_irecv", packed).endswith(", and more")
    some = [Peer(True, rank, 0, "float32[1000000]", 1) for rank in range(8)]
    assert unpack_peers(pack_peers(some)) == tuple(peer._replace(what="") for peer in some), "tensors go first"


@pytest.mark.parametrize(
    "peers, text",
    [
        ([Peer(True, 1)], " to rank 1"),
        ([Peer(False, 2, 7)], " from rank 2 with tag 7"),
        ([Peer(False, None)], " from anyone"),
        ([Peer(True, 3), Peer(True, 1), Peer(False, 2)], " to ranks 1, 3, from rank 2"),
    ],
)
def test_peers_in_words(peers, text):
    assert peers_text("recv", pack_peers(peers)) == text
    assert peers_text("batch_isend_irecv", pack_peers(peers)) == f":{text}"
    assert peers_text("all_reduce", "") == ""
