"""Collectives that C++ issues are noted too: DistributedDataParallel, FSDP2, functional ones; and the making of groups."""

from __future__ import annotations

import time
import warnings

import labs
import pytest
import torch
import torch.distributed as dist

from helpers.ranks import RankError
from helpers.ranks.hooks import noting
from helpers.ranks.notes import notes


def trains_ddp(stops: bool):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    for step in range(3):
        if stops and labs.last() and step == 2:
            time.sleep(60)
        model(torch.ones(2, 8)).sum().backward()


def trains_fsdp(stops: bool):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
    model = fully_shard(torch.nn.Linear(8, 8), mesh=mesh)
    for step in range(3):
        if stops and labs.last() and step == 2:
            time.sleep(60)
        model(torch.ones(2, 8)).sum().backward()


def imports():
    """torch does so in a process's first functional collective and first model: seconds, and not at the same pace on every rank."""
    import torch._dynamo
    import torch.distributed.fsdp  # noqa: F401


def arrives():
    """Nothing but that every rank has this file now: on a busy machine that alone may take a deadline."""


def reduces_functionally(stops: bool):
    from torch.distributed import _functional_collectives as functional

    for step in range(3):
        if stops and labs.last() and step == 2:
            time.sleep(60)
        (functional.all_reduce(torch.ones(3), "sum", dist.group.WORLD) + 1).sum().item()


def makes_a_group_without_the_last():
    if not labs.last():
        dist.new_group([0, 1])
    dist.all_reduce(torch.ones(2))


def lacks_a_mesh_row():
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "dp"))
    if labs.last():
        time.sleep(60)
    dist.all_reduce(torch.ones(4), group=mesh.get_group("dp"))


def reduces_in_a_group_of_others() -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch's own: "which does not belong to the given group"
        x, pair = torch.ones(2), dist.new_group([0, 1])
        dist.all_reduce(x, group=pair)
    return x[0].item()


def test_a_ddp_step_that_a_rank_skips_is_named(two):
    two.run(imports)
    assert two.run(trains_ddp, False) == [None] * 2
    with pytest.raises(
        RankError, match=r"rank 0 waiting in all_reduce #\d+ \(DistributedDataParallel\) of float32\[72\] at"
    ):
        two.run(trains_ddp, True)


def test_an_fsdp_step_that_a_rank_skips_is_named(two):
    two.run(imports)
    assert two.run(trains_fsdp, False) == [None] * 2
    gather = "all_gather_(single|into_tensor)"  # torch 2.13; before
    with pytest.raises(RankError, match=rf"rank 0 waiting in {gather} #\d+ of float32\[36\] at test_reducer"):
        two.run(trains_fsdp, True)


def test_a_functional_collective_is_named(two):
    two.run(imports)
    with pytest.raises(
        RankError, match=r"rank 0 waiting in all_reduce #3 \(functional\) of float32\[3\] at test_reducer"
    ):
        two.run(reduces_functionally, True)


def test_a_nan_in_a_functional_maximum_is_said(two):
    def said():
        from torch.distributed import _functional_collectives as functional

        x = torch.full((2,), float("nan") if dist.get_rank() else 2.0)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            functional.wait_tensor(functional.all_reduce(x, "max", dist.group.WORLD))
        return [str(one.message).partition(".")[0] for one in found]

    two.run(imports)
    assert two.run(said) == [[], ["all_reduce on rank 1: NaN in 2 of 2 elements"]]


def test_what_c_plus_plus_issued_is_done_in_the_end(two):
    two.run(imports)
    two.run(trains_ddp, False)
    found = notes.read(two._team.members[1].region).notes
    assert [note.agreed for note in found if note.more] == [note.agreed for note in found], "all of them by DDP"
    assert sum(note.op == "all_reduce" for note in found) == 3, "one bucket a step"
    two.run(reduces_functionally, False)
    found = notes.read(two._team.members[1].region).notes
    assert [str(note) for note in found] == [f"all_reduce #{i} (functional) of float32[3]" for i in (1, 2, 3)]


def test_making_a_group_is_a_collective(four):
    four.run(arrives)
    with pytest.raises(RankError) as caught:
        four.run(makes_a_group_without_the_last)
    assert "ranks 0-2 are in new_group #1 of ranks 0, 1" in str(caught.value)
    assert "rank 3 in all_reduce #1 of float32[2]" in str(caught.value)


def test_a_meshs_dimension_is_named(four):
    four.run(arrives)
    with pytest.raises(
        RankError, match=r"rank 2 waiting in all_reduce #1 .* in the group of ranks 2, 3 \(mesh dim dp\)"
    ):
        four.run(lacks_a_mesh_row)


def test_who_is_not_in_the_group_does_nothing_and_says_nothing(four):
    assert four.run(reduces_in_a_group_of_others) == [2.0, 2.0, 1.0, 1.0]


def test_notes_can_be_switched_off(two):
    def f():
        with noting.unnoted():
            dist.barrier()
        dist.all_reduce(torch.ones(4))

    two.run(f)
    assert [str(note) for note in notes.read(two._team.members[0].region).notes] == ["all_reduce #1 of float32[4]"]
