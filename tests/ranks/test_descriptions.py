"""What a note says of a call: what must agree, and nothing that need not; ranks as they count among all."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

from helpers.ranks.notes import notes
from helpers.ranks.notes.descriptions import description
from helpers.ranks.notes.envelopes import Peer


def described(name: str, /, *args, **kwargs) -> tuple | None:
    return description(name, getattr(dist, name))(args, kwargs)


X = torch.ones(2, 4)


@pytest.mark.parametrize(
    "op, args, kwargs, agreed",
    [
        ("all_reduce", (X,), {}, "float32[8]"),
        ("all_reduce", (X, dist.ReduceOp.MAX), {}, "float32[8] max"),
        ("all_reduce", (X,), {"op": dist.ReduceOp.SUM}, "float32[8]"),
        ("reduce", (X.int(), 2), {}, "int32[8] root 2"),
        ("broadcast", (X.bool(),), {"group_src": 1}, "bool[8] root 1"),
        ("broadcast_object_list", ([1], 3), {}, "root 3"),
        ("all_gather", ([X, X], X), {}, "float32[8]"),
        ("all_gather", ([X, X[:1]], X), {}, ""),
        ("reduce_scatter", (X, [X, X[:1]]), {}, ""),
        ("all_to_all_single", (X, X), {}, "float32[8]"),
        ("all_to_all_single", (X, X, [1, 1]), {}, ""),
        ("all_to_all", ([X], [X]), {}, ""),
        ("barrier", (), {}, ""),
        ("new_group", ([2, 0, 1],), {}, "ranks 0-2"),
        ("new_group", (), {}, "all ranks"),
    ],
)
def test_what_must_agree(op, args, kwargs, agreed):
    assert described(op, *args, **kwargs) == (op, agreed, "", "")


def test_messages_have_peers():
    assert described("send", X, 1) == ("send", "float32[8]", "", "", (Peer(True, 1),))
    assert described("irecv", X) == ("irecv", "float32[8]", "", "", (Peer(False, None),))
    assert described("destroy_process_group") == ("destroy_process_group", "", "", None)
    assert described("new_group", [0, 1], use_local_synchronization=True)[3] is None, "nobody else calls it"


def test_what_torch_will_refuse_is_left_to_torch():
    for wrong in ([], [1], None, (1,)):
        assert described("batch_isend_irecv", wrong) is None
    assert described("all_reduce", X, group=dist.GroupMember.NON_GROUP_MEMBER) is None


def in_groups():
    odd = dist.new_group([1, 3])
    if dist.get_rank() in (1, 3):
        other = 4 - dist.get_rank()
        x = torch.ones(3)
        dist.broadcast(x, group_src=0, group=odd)
        dist.broadcast(x, 1, group=odd)
        me = dist.get_group_rank(odd, dist.get_rank())
        works = [
            dist.isend(x, group=odd, group_dst=1 - me, tag=5),
            dist.irecv(torch.empty(3), other, group=odd, tag=5),
        ]
        for work in works:
            work.wait()
        ops = [
            dist.P2POp(dist.isend, x, other, odd),
            dist.P2POp(dist.irecv, torch.empty(3), group=odd, group_peer=1 - me),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()


def test_ranks_are_counted_among_all(four):
    four.run(in_groups)
    found = [str(note) for note in notes.read(four._team.members[3].region).notes]
    assert found == [
        "new_group #1 of ranks 1, 3",
        "broadcast #1 of float32[3] root 1 in the group of ranks 1, 3",
        "broadcast #2 of float32[3] root 1 in the group of ranks 1, 3",
        "isend to rank 1 with tag 5 of float32[3] in the group of ranks 1, 3",
        "irecv from rank 1 with tag 5 of float32[3] in the group of ranks 1, 3",
        "batch_isend_irecv: to rank 1, from rank 1 in the group of ranks 1, 3",
    ]
