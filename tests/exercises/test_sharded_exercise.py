"""The checkers of the chapter `sharded`: right answers pass on real ranks, wrong ones are refused for their reason."""

import pytest
import torch
import torch.distributed as dist
from lanes import some, some_rows
from solutions import refused, solutions

from helpers.exercises.sharded import CASES, Part, global_norm, step_bytes, zero_1
from helpers.parallel import MLP, Training, sharded
from helpers.ranks import Ranks


@pytest.fixture(scope="module")
def ranks():
    with Ranks(4, backend="gloo", timeout=30) as ranks:
        yield ranks


# ZeRO-1's step ------------------------------------------------------------------------------------------------------
def filled(t, nranks):
    return torch.nn.functional.pad(t, (0, -t.numel() % nranks))


def scatter_update_gather(x, g, update):
    nranks = dist.get_world_size()
    whole, grads = filled(x, nranks), filled(g / nranks, nranks)
    mine = whole.chunk(nranks)[dist.get_rank()].clone()
    part = torch.empty_like(mine)
    dist.reduce_scatter_tensor(part, grads)
    update(mine, part)
    dist.all_gather_into_tensor(whole, mine)
    return whole[: x.numel()]


def by_all_to_all(x, g, update):
    nranks = dist.get_world_size()
    whole, grads = filled(x, nranks), filled(g, nranks)
    theirs = torch.empty_like(grads)
    dist.all_to_all_single(theirs, grads)
    mine = whole.chunk(nranks)[dist.get_rank()].clone()
    update(mine, theirs.view(nranks, -1).mean(0))
    dist.all_gather(list(whole.chunk(nranks)), mine)
    return whole[: x.numel()]


def everybody_updates_all(x, g, update):
    dist.all_reduce(g)
    update(x, g / dist.get_world_size())
    return x


def sums_everywhere(x, g, update):
    nranks, rank = dist.get_world_size(), dist.get_rank()
    dist.all_reduce(g)
    whole, grads = filled(x, nranks), filled(g / nranks, nranks)
    mine = whole.chunk(nranks)[rank].clone()
    update(mine, grads.chunk(nranks)[rank])
    dist.all_gather_into_tensor(whole, mine)
    return whole[: x.numel()]


def forgets_the_mean(x, g, update):
    return scatter_update_gather(x, g * dist.get_world_size(), update)


def forgets_to_gather(x, g, update):
    nranks = dist.get_world_size()
    whole, grads = filled(x, nranks), filled(g / nranks, nranks)
    mine = whole.chunk(nranks)[dist.get_rank()]
    part = torch.empty_like(mine)
    dist.reduce_scatter_tensor(part, grads)
    update(mine, part)
    return whole[: x.numel()]


def does_not_fill_up(x, g, update):
    nranks = dist.get_world_size()
    mine = x.chunk(nranks)[dist.get_rank()].clone()
    part = torch.empty_like(mine)
    dist.reduce_scatter_tensor(part, g / nranks)
    update(mine, part)
    dist.all_gather_into_tensor(x, mine)
    return x


def returns_its_part(x, g, update):
    whole = scatter_update_gather(x, g, update)
    return whole.chunk(dist.get_world_size())[dist.get_rank()]


def returns_nothing(x, g, update):
    scatter_update_gather(x, g, update)


# the norm -----------------------------------------------------------------------------------------------------------
def one_number(shards):
    square = sum((s.square().sum() for s in shards), torch.zeros((), dtype=torch.float64))
    dist.all_reduce(square)
    return square.sqrt()


def of_norms(shards):
    norms = [torch.linalg.vector_norm(s) for s in shards] or [torch.zeros((), dtype=torch.float64)]
    square = torch.stack(norms).square().sum().reshape(1)
    dist.all_reduce(square)
    return square.item() ** 0.5


def its_own(shards):
    return sum(s.square().sum().item() for s in shards) ** 0.5


def sum_of_norms(shards):
    norm = torch.tensor(its_own(shards), dtype=torch.float64)
    dist.all_reduce(norm)
    return norm


def of_the_mean(shards):
    return one_number(shards) / dist.get_world_size()


def all_gradients(shards):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, shards)
    return sum(s.square().sum() for one in every for s in one).sqrt()


def only_where_there_is_something(shards):
    return one_number(shards) if shards else torch.zeros(())


RIGHT = {zero_1: [scatter_update_gather, by_all_to_all], global_norm: [one_number, of_norms]}
WRONG = [
    (zero_1, everybody_updates_all, "8 parameters on 4 ranks: rank 0 updates [8, 8]", "its share is 2 in each"),
    (zero_1, sums_everywhere, "8 parameters on 4 ranks: rank 0 sends 288 bytes, an all_reduce would send 192", "Hint"),
    (zero_1, forgets_the_mean, "8 parameters on 4 ranks: rank 0 returns [", "the mean of the gradients"),
    (zero_1, forgets_to_gather, "8 parameters on 4 ranks: rank 0 returns [", "everybody's new part"),
    (zero_1, does_not_fill_up, "", "RuntimeError"),
    (zero_1, returns_its_part, "", "rank"),
    (zero_1, returns_nothing, "", "None"),
    (global_norm, its_own, "3, 4, 0 and 12: rank 0 returns 3, the norm of all is 13", "norms do not"),
    (global_norm, sum_of_norms, "3, 4, 0 and 12: rank 0 returns 19, the norm of all is 13", "squares add up"),
    (global_norm, of_the_mean, "3, 4, 0 and 12: rank 0 returns 3.25", ""),
    (global_norm, all_gradients, "", "which one number of its own must a rank tell?"),
    (global_norm, only_where_there_is_something, "", "rank 3"),
]
ACCEPTED = [(check, answer) for check, those in RIGHT.items() for answer in those]
LATER = [(zero_1, by_all_to_all), (global_norm, of_norms)]


@pytest.mark.parametrize(
    "pair",
    some(ACCEPTED, [p for p in ACCEPTED if p not in LATER], "further right answers"),
    ids=lambda p: p[1].__name__,
)
def test_accepts_what_is_right(ranks, pair):
    check, answer = pair
    found = check(answer, ranks)
    assert found.passed, found


@pytest.mark.parametrize(
    ("check", "answer", "first", "then"),
    some_rows(WRONG, WRONG[::3], "more wrong answers"),
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_refuses_what_is_wrong(ranks, check, answer, first, then):
    found = check(answer, ranks)
    assert not found.passed and str(found).startswith(f"Not yet. {first}") and then in str(found), found


def test_without_a_pool_it_starts_four_ranks_of_its_own():
    assert "the norm of all is 13" in str(global_norm(its_own))


# the bytes of a step ------------------------------------------------------------------------------------------------
def by_the_book(parts, nranks, gather, reduce):
    each = sum(part.numel * ((2 if part.reshards else 1) * gather + reduce) for part in parts)
    return each * (nranks - 1) / nranks


BYTES = {
    "one gather, as the table has it": (
        lambda p, n, g, r: sum(one.numel for one in p) * (g + r) * (n - 1) / n,
        "you count one gather",
    ),
    "always two": (
        lambda p, n, g, r: sum(one.numel for one in p) * (2 * g + r) * (n - 1) / n,
        "need not be gathered again",
    ),
    "all ranks' shares": (lambda p, n, g, r: by_the_book(p, n, g, r) * n / (n - 1), "you said"),
    "types the wrong way round": (lambda p, n, g, r: by_the_book(p, n, r, g), "you said"),
}


def test_the_bytes_of_a_step():
    assert step_bytes(by_the_book).passed


@pytest.mark.parametrize("name", BYTES)
def test_refuses_other_bytes(name):
    answer, then = BYTES[name]
    refused(step_bytes(answer), then)


def test_the_exercise_counts_as_the_library_does():
    """Two layers of units that reshard, and a root that is kept: embeddings and head in one."""
    training, how = Training(MLP(4, 16), steps=1), sharded.How("blocks")
    layer = 16 * 16
    parts = (Part(layer, True), Part(layer, True), Part(2 * layer, False))
    want = sharded.fsdp2.predicted(training, 4, 0, how).total
    assert by_the_book(parts, 4, 8, 8) == want
    assert len({str(case) for case in CASES}) == len(CASES)


# the page's own solutions -------------------------------------------------------------------------------------------
def test_the_solutions_on_the_page_solve(ranks):
    place = solutions("sharded", torch=torch, dist=dist, F=torch.nn.functional)
    assert zero_1(place["my_step"], ranks).passed
    assert global_norm(place["my_norm"], ranks).passed
    assert step_bytes(place["my_bytes"]).passed
