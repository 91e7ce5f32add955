"""Exercises that ranks play take the number of ranks that is there: the pages' solutions are accepted on eight, and a wrong one is not."""

from math import prod

import pytest
import torch
import torch.distributed as dist
from solutions import refused, solutions

from helpers.exercises import annotations, context, data_parallel, expert, meshes, overlap, pipeline, sharded
from helpers.exercises import tensor_parallel as tensor
from helpers.parallel import annotated
from helpers.parallel import context as parallel_context
from helpers.parallel.meshes import PipelineAxes
from helpers.pipeline import SCHEDULES
from helpers.ranks import Ranks

N = 8
KNOWN = {"torch": torch, "dist": dist, "annotated": annotated, "context": parallel_context, "prod": prod}
PAGES = (
    "data-parallel",
    "sharded",
    "tensor-parallel",
    "pipeline",
    "expert",
    "context",
    "overlap",
    "annotations",
    "meshes",
)


@pytest.fixture(scope="module")
def eight():
    with Ranks(N, backend="gloo", timeout=60) as ranks:
        yield ranks


@pytest.fixture(scope="module")
def solved():
    known = KNOWN | {
        "PipelineAxes": PipelineAxes,
        "F": torch.nn.functional,
        "tensor": torch.tensor,
        "exercise": annotations,
    }
    return {page: solutions(page, **known) for page in PAGES}


def one_f_one_b(rank, nranks, m):
    """1F1B, read off the schedule."""
    return [str(a)[len(str(rank)) :] for a in SCHEDULES["1f1b"](nranks, m).programs[rank] if a.computes]


@pytest.mark.matrix("exercises on eight ranks")
def test_solutions_are_accepted_on_eight_ranks(eight, solved):
    answers = [
        data_parallel.token_weights(solved["data-parallel"]["my_gradients"], N),
        sharded.zero_1(solved["sharded"]["my_step"], eight),
        sharded.global_norm(solved["sharded"]["my_norm"], eight),
        tensor.two_backwards(
            solved["tensor-parallel"]["my_backward_of_f"], solved["tensor-parallel"]["my_backward_of_g"], eight
        ),
        pipeline.order(one_f_one_b, eight),
        pipeline.mended(solved["pipeline"]["my_program"], N),
        expert.averaged(solved["expert"]["my_average"], N),
        context.even_chunks(solved["context"]["my_chunks"], eight),
        context.a_ring(solved["context"]["my_ring"], eight),
        overlap.late_waits(solved["overlap"]["my_sums"], eight),
        overlap.gathers_ahead(solved["overlap"]["my_forward"], eight),
        annotations.as_pairs(solved["annotations"]["my_pairs"], eight),
        annotations.as_fsdp(solved["annotations"]["my_fsdp"], eight),
        meshes.groups_of(solved["meshes"]["my_groups"], eight),
        meshes.repaired(solved["meshes"]["my_mesh"], eight),
    ]
    assert [str(answer) for answer in answers if not answer.passed] == []


@pytest.mark.matrix("exercises on eight ranks")
def test_what_holds_on_four_alone_is_refused_on_eight():
    def of_four(grad, is_expert, experts, alike):
        dist.all_reduce(grad, group=alike if is_expert else None)
        return grad / 4

    assert expert.averaged(of_four).passed
    refused(expert.averaged(of_four, N), "For the gradient of an expert: rank 0 returns")
