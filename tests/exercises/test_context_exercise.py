"""The checkers of the chapter `context`: right answers pass on real ranks, wrong ones are refused for their reason."""

import pytest
import torch
import torch.distributed as dist
from solutions import refused, solutions

from helpers.exercises.context import JOBS, a_ring, even_chunks, ring_or_all_to_all, two_parts
from helpers.parallel import context
from helpers.parallel.attention.blocks import attend, merged
from helpers.ranks import Ranks


@pytest.fixture(scope="module")
def ranks():
    with Ranks(4, backend="gloo", timeout=30) as ranks:
        yield ranks


# two parts of a softmax ---------------------------------------------------------------------------------------------
def by_logs(out, lse, out2, lse2):
    both = torch.logaddexp(lse, lse2)
    first, second = ((one - both).exp()[:, None] for one in (lse, lse2))
    return first * out + second * out2, both


def by_largest(out, lse, out2, lse2):
    most = torch.maximum(lse, lse2)
    first, second = ((one - most).exp()[:, None] for one in (lse, lse2))
    return (first * out + second * out2) / (first + second), most + (first + second)[:, 0].log()


def by_sums(out, lse, out2, lse2):
    first, second = (one.exp()[:, None] for one in (lse, lse2))
    return (first * out + second * out2) / (first + second), (first + second)[:, 0].log()


def the_mean(out, lse, out2, lse2):
    return (out + out2) / 2, torch.logaddexp(lse, lse2)


def the_larger(out, lse, out2, lse2):
    return by_logs(out, lse, out2, lse2)[0], torch.maximum(lse, lse2)


def one_only(out, lse, out2, lse2):
    return by_logs(out, lse, out2, lse2)[0]


def a_row_too_few(out, lse, out2, lse2):
    return tuple(one[1:] for one in by_logs(out, lse, out2, lse2))


@pytest.mark.parametrize("answer", [by_logs, by_largest])
def test_parts_that_are_weighed_pass(answer):
    assert two_parts(answer).passed


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (the_mean, "1 keys and 1: the output is off by"),
        (the_larger, "1 keys and 1: lse is off by"),
        (by_sums, "5 keys and 6, scores of about 1000: the output is off by nan"),
        (one_only, "return two tensors"),
        (a_row_too_few, "the output is [3, 4], you return [2, 4]"),
        (lambda out, lse, out2, lse2: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_parts_that_are_not_are_refused(answer, said):
    refused(two_parts(answer), said)


# chunks -------------------------------------------------------------------------------------------------------------
def zigzag(rank, nranks):
    return [rank, 2 * nranks - 1 - rank]


def zigzag_from_the_end(rank, nranks):
    return [nranks + rank, nranks - 1 - rank]


def in_one_piece(rank, nranks):
    return [2 * rank, 2 * rank + 1]


def dealt_out(rank, nranks):
    return [rank, nranks + rank]


def all_the_same(rank, nranks):
    return [0, 2 * nranks - 1]


@pytest.mark.parametrize("answer", [zigzag, zigzag_from_the_end])
def test_even_chunks_pass(ranks, answer):
    assert even_chunks(answer, ranks).passed


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (in_one_piece, "ranks compute 3, 7, 11, 15 scores"),
        (dealt_out, "ranks compute 6, 8, 10, 12 scores"),
        (all_the_same, "You place rank 0: [0, 7]; rank 1: [0, 7]"),
    ],
)
def test_uneven_chunks_are_refused(ranks, answer, said):
    refused(even_chunks(answer, ranks), said)


# a ring -------------------------------------------------------------------------------------------------------------
def hops(q, k, v, many, blocks=lambda part, q, block: merged(part, attend(q, *block))):
    rank, nranks = dist.get_rank(), dist.get_world_size()
    part, block = attend(q, k, v), torch.stack((k, v))
    for _ in range(many):
        room = torch.empty_like(block)
        give = dist.P2POp(dist.isend, block, (rank + 1) % nranks)
        take = dist.P2POp(dist.irecv, room, (rank - 1) % nranks)
        for work in dist.batch_isend_irecv([give, take]):
            work.wait()
        block = room
        part = blocks(part, q, block)
    return part.out


def a_round(q, k, v):
    return hops(q, k, v, dist.get_world_size() - 1)


def a_hop_too_few(q, k, v):
    return hops(q, k, v, dist.get_world_size() - 2)


def home_again(q, k, v):
    rank, nranks = dist.get_rank(), dist.get_world_size()
    out, mine, room = a_round(q, k, v), torch.stack((k, v)), torch.stack((k, v))
    works = [dist.isend(mine, (rank + 1) % nranks), dist.irecv(room, (rank - 1) % nranks)]
    for work in works:
        work.wait()
    return out


def its_own(q, k, v):
    return attend(q, k, v).out


def gathers(q, k, v):
    mine = torch.stack((k, v))
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    return attend(q, *torch.cat(every, -2)).out


def keys_instead(q, k, v):
    return k[..., :1]


@pytest.mark.parametrize("answer", [a_round])
def test_a_round_passes(ranks, answer):
    assert a_ring(answer, ranks).passed


REFUSED = [
    (its_own, "With one token a rank rank 0 is off by"),
    (a_hop_too_few, "is off by"),
    (gathers, "right, but by all_gather"),
    (home_again, "right, but rank 0 sends"),
    (keys_instead, "returns [1, 2, 1, 1]"),
]


@pytest.mark.parametrize(("answer", "said"), REFUSED)
def test_what_is_no_ring_is_refused(ranks, answer, said):
    refused(a_ring(answer, ranks), said)


# ring or all-to-all -------------------------------------------------------------------------------------------------
def what_shows(nranks, kv_heads, block, stream, computes, bandwidth):
    if kv_heads % nranks:
        return "ring"
    ring = (nranks - 1) * max(0, block / bandwidth - computes)
    swapped = (2 * stream + block) * (nranks - 1) / nranks / bandwidth
    return "ring" if ring <= swapped else "all_to_all"


def fewest_bytes(nranks, kv_heads, block, stream, computes, bandwidth):
    return what_shows(nranks, kv_heads, block, stream, 0.0, bandwidth)


def whoever_has_no_heads(nranks, kv_heads, block, stream, computes, bandwidth):
    return what_shows(nranks, nranks, block, stream, computes, bandwidth)


def keys_alone_move(nranks, kv_heads, block, stream, computes, bandwidth):
    return what_shows(nranks, kv_heads, block, 0, computes, bandwidth)


def test_what_shows_less_passes_and_both_ways_win():
    assert ring_or_all_to_all(what_shows).passed
    best = [min(job.shows(), key=job.shows().__getitem__) for job in JOBS]
    assert best == ["all_to_all", "ring", "all_to_all", "ring", "ring", "ring", "ring"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (fewest_bytes, "Llama-2-7B, 65,536 tokens on 8 ranks over nvlink-4: ring shows less"),
        (whoever_has_no_heads, "8 heads of keys are not shared by 16 ranks"),
        (keys_alone_move, "Llama-3-8B, 6,144 tokens on 8 ranks over nvlink-4: ring shows less"),
        (lambda *_: "ring", "Llama-2-7B, 16,384 tokens on 8 ranks over nvlink-4: all_to_all shows less"),
        (lambda *_: "all_to_all", "65,536 tokens on 8 ranks over nvlink-4: ring shows less"),
        (lambda *_: "heads", "return one of 'ring' and 'all_to_all', got 'heads'"),
        (lambda *_: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_a_way_that_shows_more_or_cannot_be_is_refused(answer, said):
    refused(ring_or_all_to_all(answer), said)


def test_the_solutions_on_the_page_solve(ranks):
    place = solutions("context", torch=torch, dist=dist, context=context)
    assert two_parts(place["my_two_parts"]).passed and ring_or_all_to_all(place["my_way"]).passed
    assert even_chunks(place["my_chunks"], ranks).passed and a_ring(place["my_ring"], ranks).passed
