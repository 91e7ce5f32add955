"""The checkers of the chapter `reading-a-trace`: right answers pass on real ranks, wrong ones are refused for their reason."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
import torch
import torch.distributed as dist
from solutions import refused, solutions

from helpers.exercises.reading_a_trace import CALLS, STEPS, exposed_time, late_rank, loads_ahead
from helpers.ranks import Ranks


@pytest.fixture(scope="module")
def ranks():
    with Ranks(4, backend="gloo", timeout=30) as ranks:
        yield ranks


# exposed time -------------------------------------------------------------------------------------------------------
def by_edges(compute, calls):
    """From one edge to the next somebody either computes or does not."""
    edges = sorted({edge for span in (*compute, *calls) for edge in span})
    runs = lambda spans, at: any(start <= at < end for start, end in spans)  # noqa: E731
    pieces = pairwise(edges)
    return sum(behind - at for at, behind in pieces if runs(calls, at) and not runs(compute, at))


def all_calls(compute, calls):
    return sum(end - start for start, end in calls)


def hidden(compute, calls):
    merged = by_edges([], calls)
    return merged - by_edges(compute, calls)


def each_alone(compute, calls):
    return sum(by_edges(compute, [call]) for call in calls)


def after_computing(compute, calls):
    return max(0, max(end for _, end in calls) - max(end for _, end in compute))


def test_exposed_time():
    assert exposed_time(by_edges).passed
    assert [by_edges(*step) for step in STEPS] == [step.exposed for step in STEPS] == [4, 4, 2, 3, 6, 17]


@pytest.mark.parametrize(
    ("answer", "then"),
    [
        (
            all_calls,
            "computes 0 to 10; calls 6 to 14: 4 ms are exposed, you said 8. Hint: that is how long the calls last",
        ),
        (hidden, "computes 0 to 10; calls 10 to 14: 4 ms are exposed, you said 0. Hint: that is what is hidden"),
        (each_alone, "calls 8 to 14, 9 to 16: 6 ms are exposed, you said 10. Hint: two calls at once"),
        (after_computing, "calls 4 to 16: 2 ms are exposed, you said 0"),
    ],
)
def test_refuses_other_times(answer, then):
    refused(exposed_time(answer), then)


# who is late --------------------------------------------------------------------------------------------------------
def durations(spans):
    mine = torch.tensor([end - begin for begin, end in spans], dtype=torch.float64)
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    return torch.stack(every)


def caused_most(spans):
    every = durations(spans)
    cost, last = every.min(0)
    waited = (every - cost).sum(0)
    return max(range(len(every)), key=lambda rank: waited[last == rank].sum().item())


def longest_spans(spans):
    return durations(spans).sum(1).argmax()


def last_most_often(spans):
    last = durations(spans).argmin(0).tolist()
    return max(set(last), key=last.count)


def by_the_clock(spans):
    begins = torch.tensor([begin for begin, _ in spans], dtype=torch.float64)
    every = [torch.empty_like(begins) for _ in range(dist.get_world_size())]
    dist.all_gather(every, begins)
    return torch.stack(every).sum(1).argmax().item()


def only_rank_0_knows(spans):
    found = caused_most(spans)
    return found if dist.get_rank() == 0 else None


def test_who_is_late(ranks):
    assert late_rank(caused_most, ranks).passed
    assert [calls.late for calls in CALLS] == [2, 0, 3]


@pytest.mark.parametrize(
    ("answer", "then"),
    [
        (
            longest_spans,
            "one call, rank 2 comes last: rank 0 returns 0, the others waited for rank 2. Hint: the longest spans",
        ),
        (
            last_most_often,
            "rank 1 is a little late three times, rank 3 once by much: rank 0 returns 1, the others waited for rank 3",
        ),
        (by_the_clock, "rank 0 returns 0, the others waited for rank 2"),
        (only_rank_0_knows, "rank 1 returns None"),
    ],
)
def test_refuses_another_rank(ranks, answer, then):
    refused(late_rank(answer, ranks), then)


# a loader that runs ahead -------------------------------------------------------------------------------------------
def one_ahead(load, compute, n):
    found = []
    with ThreadPoolExecutor(1) as worker:
        coming = worker.submit(load, 0)
        for k in range(n):
            batch = coming.result()
            if k + 1 < n:
                coming = worker.submit(load, k + 1)
            found.append(compute(k, batch))
    return found


def one_by_one(load, compute, n):
    return [compute(k, load(k)) for k in range(n)]


def all_at_once(load, compute, n):
    with ThreadPoolExecutor(1) as worker:
        coming = [worker.submit(load, k) for k in range(n)]
        return [compute(k, one.result()) for k, one in enumerate(coming)]


def the_same_twice(load, compute, n):
    with ThreadPoolExecutor(1) as worker:
        found = []
        for k in range(n):
            ahead = worker.submit(load, min(k + 1, n - 1))
            found.append(compute(k, load(k)))
            ahead.result()
        return found


def forgets_the_last(load, compute, n):
    return one_ahead(load, compute, n)[:-1]


def test_a_loader_that_runs_ahead(ranks):
    assert loads_ahead(one_ahead, ranks).passed


@pytest.mark.parametrize(
    ("answer", "then"),
    [
        (one_by_one, "2 batches, rank 0: batch 1 is not begun while batch 0 is computed on. Hint: who else"),
        (all_at_once, "only the next one may be"),
        (the_same_twice, "batch 0 is made twice"),
        (forgets_the_last, "1 batches, rank 0: returns [], not what compute returned, [0.0]"),
    ],
)
def test_refuses_other_loops(ranks, answer, then):
    refused(loads_ahead(answer, ranks), then)


def test_without_a_pool_it_starts_four_ranks_of_its_own():
    assert "returns [], not what" in str(loads_ahead(forgets_the_last))


# the page's own solutions -------------------------------------------------------------------------------------------
def test_the_solutions_on_the_page_solve(ranks):
    place = solutions("reading-a-trace", torch=torch, dist=dist, ThreadPoolExecutor=ThreadPoolExecutor)
    assert exposed_time(place["my_exposed"]).passed
    assert late_rank(place["my_late"], ranks).passed
    assert loads_ahead(place["my_loop"], ranks).passed
