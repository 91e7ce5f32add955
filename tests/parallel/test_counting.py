"""What is counted is what was asked for: every collective by its formula, in groups, from C++ and other threads, with and without notes."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
import torch.distributed as dist
import warm

from helpers.collectives import PRIMITIVES
from helpers.parallel.counting import Moved, at_least, counted

EACH = 8  # float32 numbers of one rank's part


def one_of_each() -> dict[str, Moved]:
    """Every collective of torch once, each with a count of its own."""
    rank, nranks, found = dist.get_rank(), dist.get_world_size(), {}
    part, whole = torch.ones(EACH), torch.ones(EACH * nranks)
    pieces = [torch.empty(EACH) for _ in range(nranks)]
    calls = {
        "all_reduce": lambda: dist.all_reduce(whole),
        "reduce": lambda: dist.reduce(whole, 1),
        "broadcast": lambda: dist.broadcast(whole, 1),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
        "all_gather, a list": lambda: dist.all_gather(pieces, part),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
        "reduce_scatter, a list": lambda: dist.reduce_scatter(part, pieces),
        "scatter": lambda: dist.scatter(part, pieces if rank == 1 else None, 1),
        "gather": lambda: dist.gather(part, pieces if rank == 1 else None, 1),
        "all_to_all": lambda: dist.all_to_all_single(whole, torch.ones_like(whole)),
        "barrier": dist.barrier,
    }
    for name, call in calls.items():
        with counted() as found[name]:
            call()
    return found


def test_every_collective_is_its_formula(ranks):
    for rank, found in enumerate(ranks.run(one_of_each)):
        for name, moved in found.items():
            op = name.partition(",")[0]
            n = 4 * EACH * 4 if op != "barrier" else 0
            assert [(c.op, c.group, c.sent) for c in moved.calls] == [
                (op, (0, 1, 2, 3), PRIMITIVES[op].least(rank, 4, 1)[0] * n)
            ], name
        assert found["all_gather"].nbytes() == 4 * EACH and found["reduce_scatter"].nbytes() == 4 * 4 * EACH
        assert found["reduce_scatter"].on_gloo() == 2 * found["reduce_scatter"].sent() > 0
        assert found["all_gather"].on_gloo() == found["all_gather"].sent()


def messages() -> Moved:
    """Sends, a batch of both ways, an uneven all_to_all, subgroups and handles."""
    rank, x = dist.get_rank(), torch.ones(EACH)
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    with counted() as moved:
        if rank == 0:
            dist.send(x, 3)
        elif rank == 3:
            dist.recv(x, 0)
        ops = [dist.P2POp(dist.isend, x, (rank + 1) % 4), dist.P2POp(dist.irecv, torch.empty(EACH), (rank - 1) % 4)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        sizes = [rank + 1] * 4
        dist.all_to_all_single(torch.empty(10), torch.ones(4 * (rank + 1)), [1, 2, 3, 4], sizes)
        dist.all_reduce(x, group=pairs[rank // 2], async_op=True).wait()
        dist.all_reduce(x)
    dist.all_reduce(x)  # nobody counts this
    return moved


def test_messages_groups_and_handles(ranks):
    for rank, moved in enumerate(ranks.run(messages)):
        assert moved.ncalls("send") == 1 + (rank == 0) and moved.ncalls("recv") == 1 + (rank == 3)
        assert moved.sent("send") == 4 * EACH * moved.ncalls("send") and moved.sent("recv") == 0
        assert moved.sent("all_to_all") == 4 * 3 * (rank + 1), "its own part stays"
        pair = (0, 1) if rank < 2 else (2, 3)
        assert moved.ncalls("all_reduce", pair) == moved.ncalls("all_reduce", (0, 1, 2, 3)) == 1
        assert moved.sent("all_reduce", pair) == 4 * EACH and moved.sent(group=(0, 1, 2, 3), op="all_reduce") == 48
        assert sum(moved.by_op().values()) == len(moved.calls)
        assert f"all_reduce in {list(pair)}: 1 calls, 32 bytes given, 32 sent" in str(moved)


def functional() -> Moved:
    """What DTensor calls, forward and backward, and DTensor itself."""
    import torch.distributed._functional_collectives as functional
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    x, world = torch.ones(4 * EACH), dist.group.WORLD
    mesh = init_device_mesh("cpu", (4,))
    sharded = distribute_tensor(torch.ones(4, EACH), mesh, [Shard(0)])
    whole = torch.ones(EACH, requires_grad=True)
    gather = getattr(
        functional, "all_gather_single_autograd", functional.all_gather_tensor_autograd
    )  # torch 2.13; before
    with counted() as moved:
        (functional.all_reduce(x, "sum", world) + 1).sum()
        gather(whole, 0, world).mul(2).sum().backward()
        sharded.redistribute(mesh, [Replicate()])
        functional.all_to_all_single(x, None, None, world).sum()
    return moved


def test_functional_collectives_and_dtensor(ranks):
    """A gather's backward is a reduce_scatter that autograd issues by itself."""
    for moved in ranks.run(functional):
        ops = [(c.op, c.sent) for c in moved.calls]
        n = 4 * 4 * EACH
        assert ops == [
            ("all_reduce", Fraction(2 * 3 * n, 4)),
            ("all_gather", Fraction(3 * n, 4)),
            ("reduce_scatter", Fraction(3 * n, 4)),
            ("all_gather", Fraction(3 * n, 4)),
            ("all_to_all", Fraction(3 * n, 4)),
        ]


def nested() -> tuple[int, int]:
    with counted() as outer:
        dist.all_reduce(torch.ones(1))
        with counted() as inner:
            dist.all_reduce(torch.ones(1))
    return outer.ncalls(), inner.ncalls()


def test_counts_may_be_nested(ranks):
    assert ranks.run(nested) == [(2, 1)] * 4


def failing() -> int:
    with counted() as moved, pytest.raises(TypeError):
        dist.all_reduce("no tensor")
    with counted() as after:
        dist.all_reduce(torch.ones(1))
    return moved.ncalls() + after.ncalls()


def test_what_fails_before_it_is_sent_is_not_counted(ranks):
    assert ranks.run(failing) == [1] * 4


def test_a_group_of_one_sends_nothing():
    assert at_least("all_reduce", 0, 1, 100) == at_least("all_to_all", 0, 1, 100) == 0
    assert at_least("all_reduce", 0, 3, 4) == Fraction(16, 3)
    assert str(Moved()) == "nothing" and Moved().sent() == 0


BARE = """
import torch, torch.distributed as dist
from helpers.parallel import counted
dist.init_process_group("gloo")
with counted() as moved:
    dist.all_reduce(torch.ones(8))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
with counted() as ddp:
    model(torch.ones(2, 4)).sum().backward()
if dist.get_rank() == 0:
    print(moved, ddp.by_op(), ddp.nbytes(), sep="; ")
dist.destroy_process_group()
"""


def test_under_plain_torchrun_without_notes(tmp_path):
    script = tmp_path / "bare.py"
    script.write_text(BARE)
    done = warm.run(str(script), nranks=2)
    assert done.stdout == "all_reduce in [0, 1]: 1 calls, 32 bytes given, 32 sent; {'all_reduce': 1}; 80\n", done.stderr
