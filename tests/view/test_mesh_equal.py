"""The widget `mesh`: JavaScript finds the groups that Python finds, both find torch's; links and Python bring the state back."""

from __future__ import annotations

import ast
import random
from math import prod

import pytest
import torch.distributed as dist
import traitlets
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

from helpers.parallel.meshes import Axes
from helpers.view.mesh.axes import MOST, NAMES, NODES, MeshSpec, coordinates, crossing, group, groups, refusal
from helpers.view.mesh.page import html
from helpers.view.mesh.widget import explore_mesh, mesh_html, mesh_sentence, mesh_spec

CASES, REFUSED = 1_000, 200
ALL = (*NAMES, "expert")
GOOD = "#mesh-0--axes-data.2_shard.1_pipeline.2_tensor.2--expert-2--gpus-8--axis-tensor--rank-3"
UNFIT = {
    "data.2": "data.99",
    "_shard.1": "",
    "expert-2": "expert-3",
    "gpus-8": "gpus-5",
    "axis-tensor": "axis-context",
    "rank-3": "rank-8",
    "tensor.2": "tensor.0",
    "shard.1": "data.1",
    "--axes-data.2": "--axes-data.0x2",
    "axes-data.2": "axes-data.2.5",
    "pipeline.2": "pipeline.x",
    "2--expert-2--gpus-8--axis-tensor--rank-3": "0--expert-2--gpus-8--axis-tensor--rank-none",
}


def some_sizes(rng: random.Random, most: int) -> dict[str, int]:
    order = rng.sample(NAMES, k=4)
    while True:
        sizes = {name: rng.choice((1, 1, 2, 2, 3, 4, 5, 8, 16)) for name in order}
        if prod(sizes.values()) <= most:
            return sizes


def some_spec(rng: random.Random) -> MeshSpec:
    sizes = some_sizes(rng, MOST)
    spread = sizes["data"] * sizes["shard"]
    expert = rng.choice([n for n in range(1, spread + 1) if spread % n == 0])
    rank = rng.choice((None, rng.randrange(prod(sizes.values()))))
    return mesh_spec(axis=rng.choice(("", *ALL)), rank=rank, gpus=rng.choice(NODES), expert=expert, **sizes)


@pytest.fixture(scope="module")
def specs() -> list[MeshSpec]:
    rng = random.Random(4)
    return [mesh_spec(data=2, pipeline=2, tensor=2), mesh_spec(rank=0), *(some_spec(rng) for _ in range(CASES))]


@pytest.fixture(scope="module")
def refused() -> list[dict]:
    """Meshes that are too large, and experts that do not divide."""
    one_too_many = [["pipeline", 1], ["data", 13], ["shard", 5], ["tensor", 1]]
    rng, found = random.Random(5), [{"axes": one_too_many, "expert": 1}]
    while len(found) < REFUSED:
        axes = [[name, size] for name, size in some_sizes(rng, 10**6).items()]
        expert = rng.randrange(1, 9)
        if refusal(axes, expert):
            found.append({"axes": axes, "expert": expert})
    return found


@pytest.fixture(scope="module")
def played(specs, refused, play) -> dict:
    """One node process computes everything."""
    unfit = [GOOD, *(GOOD.replace(*change) for change in UNFIT.items()), GOOD.replace("mesh-0", "mesh-1")]
    told = {"specs": specs, "refused": refused, "unfit": unfit}
    return play("mesh", told)


def test_javascript_finds_and_says_what_python_does(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        assert got["sentence"] == mesh_sentence(spec), spec
        assert list(got["last"].items()) == list(coordinates(spec, spec.nranks - 1).items()), spec
        assert got["groups"] == [[axis, groups(spec, axis)] for axis in ALL], spec
        assert got["crossing"] == [[axis, crossing(spec, axis)] for axis in ALL], spec
    assert len(specs) > 1_000 and sum(any(n for _, n in got["crossing"]) for got in played["specs"]) > 100


def test_what_lights_up_is_the_axis_and_the_ranks_own_groups(specs, played):
    for spec, got in zip(specs[:200], played["specs"], strict=False):
        sizes = spec.sizes
        lit = groups(spec, spec.axis) if sizes.get(spec.axis, 1) > 1 else []
        for rank, mark in enumerate(got["marks"]):
            own = next((i for i, ranks in enumerate(lit) if rank in ranks), -1)
            assert mark["group"] == own
            assert mark["lit"] == (own >= 0 and (spec.rank is None or spec.rank in lit[own]))
            meets = [] if spec.rank in (None, rank) else [a for a, n in sizes.items() if n > 1]
            assert mark["met"] == [axis for axis in meets if rank in group(spec, axis, spec.rank)]
    assert "".join(played["letters"]) == "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"


def test_what_cannot_be_drawn_is_refused_in_the_same_words(refused, played):
    assert played["refused"] == [refusal(one["axes"], one["expert"]) for one in refused]
    assert len({words.partition(" ")[0] == "Experts" for words in played["refused"]}) == 2
    assert played["unfit"] == [True, *[False] * len(UNFIT), None]


def test_what_a_refusal_advises_would_do(refused):
    for one in refused:
        words, sizes = refusal(**one), dict(one["axes"])
        if "may be at most" in words:
            axis, _, most = words.rstrip(".").rpartition(": ")[2].rpartition(", ")[2].partition(" may be at most ")
            nranks = prod(sizes.values())
            assert nranks // sizes[axis] * int(most) <= MOST < nranks // sizes[axis] * (int(most) + 1)
        elif words.startswith("Experts"):
            fitting = words.partition("expert is one of ")[2].partition(", not")[0].split(", ")
            assert all(not refusal(one["axes"], int(n)) for n in fitting)


def test_a_link_and_a_line_of_python_bring_the_state_back(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        assert (got["linked"], got["fits"]) == (spec.as_json(), True)
        call = ast.parse(got["python"]).body[-1].value
        assert mesh_spec(**{one.arg: ast.literal_eval(one.value) for one in call.keywords}) == spec


def on_torch(nranks: int, ask) -> list:
    """ask() on every rank of a torch.distributed that has no others to talk to."""
    found = []
    for rank in range(nranks):
        dist.init_process_group("fake", rank=rank, world_size=nranks, store=FakeStore())
        try:
            found.append(ask())
        finally:
            dist.destroy_process_group()
    return found


@pytest.mark.parametrize("order", [("data", "pipeline", "tensor"), ("tensor", "shard", "data"), ("pipeline", "tensor")])
def test_coordinates_and_groups_are_those_of_torchs_device_mesh(order):
    sizes = dict(zip(order, (2, 3, 2), strict=False))
    spec = mesh_spec(**sizes)

    def ask():
        mesh = init_device_mesh("cpu", tuple(sizes.values()), mesh_dim_names=order)
        return list(mesh.get_coordinate()), {n: dist.get_process_group_ranks(mesh.get_group(n)) for n in order}

    for rank, (at, named) in enumerate(on_torch(spec.nranks, ask)):
        assert at == [coordinates(spec, rank)[name] for name in order]
        assert named == {name: group(spec, name, rank) for name in order}


def test_groups_are_those_of_the_course_library():
    """helpers.parallel.meshes: replicas of shards of slices."""

    def ask():
        mesh = Axes(replica=2, shard=2, tensor=2).mesh()
        return [dist.get_process_group_ranks(mesh.get_group(name)) for name in ("replica", "shard", "tensor")]

    spec = mesh_spec(data=2, shard=2, tensor=2)
    for rank, found in enumerate(on_torch(8, ask)):
        assert found == [group(spec, name, rank) for name in ("data", "shard", "tensor")]


def test_experts_lie_on_data_ranks_as_a_mesh_that_splits_that_axis_has_them():
    """torch's way to say it: the data axis as two, experts the inner one."""

    def ask():
        mesh = init_device_mesh("cpu", (2, 2, 3), mesh_dim_names=("replicas of experts", "expert", "tensor"))
        return dist.get_process_group_ranks(mesh.get_group("expert"))

    spec = mesh_spec(data=4, tensor=3, expert=2)
    assert on_torch(12, ask) == [group(spec, "expert", rank) for rank in range(12)]
    sharded = mesh_spec(data=2, shard=2, tensor=2, expert=4)
    assert groups(sharded, "expert") == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_the_fallback_and_the_directive():
    spec = mesh_spec(axis="data", rank=5, gpus=4, expert=2, data=2, pipeline=2, tensor=2)
    assert html("data=2 pipeline=2 tensor=2", {"axis": "data", "rank": 5, "gpus": 4, "expert": 2}) == mesh_html(spec)
    assert mesh_sentence(spec) == (
        "8 ranks on 2 nodes of 4: data 2 × pipeline 2 × tensor 2, from the outermost axis to the innermost. On data run "
        "all_reduces of gradients, or a reduce_scatter and an all_gather (ZeRO-1), in 4 groups of 2, all of them cross between nodes. "
        "Rank 5 is data 1, pipeline 0, tensor 1; it talks to 1 on data; 7 on pipeline; 4 on tensor; 1 on expert."
    )
    assert "<td>data</td><td>2</td><td>4</td><td>4</td>" in mesh_html(spec)
    with pytest.raises(ValueError, match="an axis comes once, got 'data' twice"):
        html("data=2 data=4", {})
    with pytest.raises(ValueError, match="as \"data=2\"; 'tensor': expected a whole number, got ''"):
        html("data=2 tensor", {})


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"context": 2}, "an axis is one of pipeline, data, shard, tensor, or expert, got 'context'"),
        ({"data": 0}, "data must be a whole number from 1 to 64, got 0"),
        ({"data": True}, "got True"),
        ({"data": 16, "tensor": 8}, "128 ranks, and 64 can be drawn: .* data may be at most 8"),
        ({"data": 4, "expert": 3}, r"data × shard = 4: expert is one of 1, 2, 4, not 3"),
        ({"gpus": 3}, "gpus must be one of 1, 2, 4, 8, got 3"),
        ({"axis": "row"}, "axis must be one of data, shard, pipeline, tensor, expert, or nothing, got 'row'"),
        ({"data": 2, "rank": 2}, "rank must be a whole number from 0 to 1, or nothing, got 2"),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        mesh_spec(**asked)


def test_a_kernel_has_the_groups_and_cannot_be_told_nonsense():
    widget = explore_mesh(data=2, tensor=2)
    assert widget.groups == [[0, 1], [2, 3]] and repr(widget).startswith("MeshWidget(4 ranks on 1 node of 8: data 2 ×")
    widget.spec = mesh_spec(tensor=4, data=2, axis="").as_json()
    assert widget.groups == []
    for wrong in ({"axes": []}, mesh_spec().as_json() | {"expert": 2}, mesh_spec().as_json() | {"axes": [["row", 2]]}):
        with pytest.raises(traitlets.TraitError, match="no spec of a mesh"):
            widget.spec = wrong
