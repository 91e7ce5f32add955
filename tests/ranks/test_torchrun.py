"""What torchrun starts: four ranks on one node, and on two; all of it on loopback."""

from __future__ import annotations

import json
import re

import pytest
import torchruns

from helpers.ranks import primitives

LAB = """
import json, os, sys
import torch, torch.distributed as dist
sys.path.insert(0, "tests/ranks")
import labs
from helpers.collectives import CATALOGUE
from helpers.ranks import primitives, Ranks, bench, emit, messages, paired
from helpers.ranks import job

with job() as j:
    try:
        Ranks(2)
    except RuntimeError as error:
        refused = str(error)
    found = {
        "place": [j.rank, j.nranks, j.local_rank, j.local_nranks, j.nnodes, os.environ["LOCAL_RANK"]],
        "label": str(j),
        "differences": labs.differences(labs.cases(j.nranks)[j.nnodes - 1 : 40 : 2]),
        "wrong": [m.name for m in primitives.perform_all() if not m.right],
        "rows": [row.nbytes for row in paired(CATALOGUE["all_reduce", "ring"](nranks=j.nranks), [1024, 65536])],
        "messages": len(messages([4, 4096])),
        "refused": refused,
        "interface": os.environ.get("GLOO_SOCKET_IFNAME", "not forced"),
    }
    emit(json.dumps(found))
"""


def emitted(out: str) -> dict[int, dict]:
    """What every rank emitted, by rank; a line that is torn would not be read."""
    return {int(rank): json.loads(said) for rank, said in re.findall(r"^\[rank (\d+)\] (.*)$", out, re.M)}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    path = tmp_path_factory.mktemp("lab") / "lab.py"
    path.write_text(LAB)
    return str(path)


def check(said: dict, rank: int, nranks: int, local_nranks: int) -> None:
    nnodes = nranks // local_nranks
    local = rank % local_nranks
    assert said["place"] == [rank, nranks, local, local_nranks, nnodes, str(local)]
    assert said["label"] == f"{nranks} ranks{f' on {nnodes} nodes' * (nnodes > 1)}, gloo, CPU"
    assert said["differences"] == said["wrong"] == []
    assert said["rows"] == [1024, 65536] and said["messages"] == 2
    assert said["refused"] == "torchrun has started this process as a rank: use `with job() as j:`, not Ranks()"


ON_LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo"}  # across nodes it is not forced


def test_every_lab_function_runs_unchanged_in_four_ranks(lab):
    ended = torchruns.warm_run(lab, nproc=4)
    assert ended.code == 0, ended.err[-3000:]
    said = emitted(ended.out)
    assert sorted(said) == [0, 1, 2, 3]
    for rank in said:
        check(said[rank], rank, 4, 4)
        assert said[rank]["interface"] == "lo"


@pytest.mark.matrix("two nodes under torchrun for real; one that hangs is in tests/ranks/test_nodes.py")
def test_and_on_two_nodes_for_real(lab):
    nodes = torchruns.run(lab, nproc=2, nodes=[([], ON_LOOPBACK)] * 2)
    assert [ended.code for ended in nodes] == [0, 0], [ended.err[-2000:] for ended in nodes]
    for node, ended in enumerate(nodes):
        said = emitted(ended.out)
        assert sorted(said) == [2 * node, 2 * node + 1]
        for rank in said:
            check(said[rank], rank, 4, 2)


@pytest.mark.matrix("two nodes under torchrun for real")
def test_and_on_two_nodes(lab):
    ended = torchruns.warm_run(lab, nproc=2, nnodes=2, **ON_LOOPBACK)
    assert ended.code == 0, ended.err[-3000:]
    said = emitted(ended.out)
    assert sorted(said) == [0, 1, 2, 3]
    for rank in said:
        check(said[rank], rank, 4, 2)


def test_the_module_shows_the_same_under_torchrun_as_alone(four):
    ended = torchruns.warm_run("-m", "helpers.ranks", "-r", "1", nproc=4)
    assert ended.code == 0, ended.err[-3000:]
    assert ended.out == "4 ranks, gloo, CPU\n\n" + primitives.text(four.run(primitives.perform_all, 1))


def test_the_columns_under_torchrun():
    ended = torchruns.warm_run("-m", "helpers.ranks", "bench", "all_gather", "-b", "1K", "-e", "4K", nproc=3)
    rows = [line.split() for line in ended.out.splitlines() if not line.startswith("#")]
    assert ended.code == 0, ended.err[-3000:]
    assert [[*row[:5], row[8], row[12]] for row in rows] == [
        ["1020", "85", "float", "none", "-1", "0", "0"],
        ["4092", "341", "float", "none", "-1", "0", "0"],
    ]


def test_a_rank_that_raises_ends_the_job_and_is_named(tmp_path):
    script = tmp_path / "raises.py"
    script.write_text(
        "import torch, torch.distributed as dist\nfrom helpers.ranks import job\n"
        "with job() as j:\n    assert j.rank != 2, 'rank 2 has had enough'\n    dist.all_reduce(torch.ones(4))\n"
    )
    ended = torchruns.warm_run(str(script), nproc=3)
    assert ended.code == 1 and "AssertionError: rank 2 has had enough" in ended.err
