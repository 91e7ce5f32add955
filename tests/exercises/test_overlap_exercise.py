"""The checkers of the chapter `overlap`: right answers pass on real ranks, wrong ones are refused for their reason."""

import pytest
from solutions import refused, solutions

from helpers.exercises.overlap import QUEUES, exposed_time, gathers_ahead, late_waits
from helpers.ranks import Ranks


@pytest.fixture(scope="module")
def ranks():
    with Ranks(2, backend="gloo", timeout=30) as ranks:
        yield ranks


# exposed time -------------------------------------------------------------------------------------------------------
def along_the_link(computed, buckets, seconds_of):
    free = 0
    for bucket in buckets:
        free = max(free, bucket.ready) + seconds_of(bucket.nbytes)
    return max(0, free - computed)


def from_the_end(computed, buckets, seconds_of):
    """The longest chain of calls that ends last."""
    rest = found = 0
    for bucket in reversed(buckets):
        rest += seconds_of(bucket.nbytes)
        found = max(found, bucket.ready + rest - computed)
    return found


PAPER = {
    "nothing hidden": (lambda c, b, s: sum(s(one.nbytes) for one in b), "as if none of it ran beside backward"),
    "the difference": (lambda c, b, s: max(0, sum(s(one.nbytes) for one in b) - c), "before it is ready"),
    "the last one": (lambda c, b, s: s(b[-1].nbytes), "the link is still busy"),
    "the step": (lambda c, b, s: c + along_the_link(c, b, s), "follow the link"),
}


@pytest.mark.parametrize("answer", [along_the_link, from_the_end])
def test_accepts_the_exposed_time(answer):
    assert exposed_time(answer).passed


@pytest.mark.parametrize("name", PAPER)
def test_refuses_another_time(name):
    answer, words = PAPER[name]
    refused(exposed_time(answer), words)
    assert len({str(queue) for queue in QUEUES}) == len(QUEUES)


# late waits ---------------------------------------------------------------------------------------------------------
def waits_behind(compute, send, n):
    handles = [send(compute(k)) for k in range(n)]
    return [handle.wait() for handle in handles]


def waits_from_the_last(compute, send, n):
    handles = [send(compute(k)) for k in range(n)]
    return [handle.wait() for handle in handles[::-1]][::-1]


def waits_at_once(compute, send, n):
    return [send(compute(k)).wait() for k in range(n)]


def sends_behind(compute, send, n):
    gradients = [compute(k) for k in range(n)]
    return [handle.wait() for handle in [send(g) for g in gradients]]


def forgets_to_wait(compute, send, n):
    gradients = [compute(k) for k in range(n)]
    for gradient in gradients:
        send(gradient)
    return gradients


def sends_and_forgets(compute, send, n):
    gradients = []
    for k in range(n):
        gradients.append(compute(k))
        send(gradients[-1])
    return gradients


def turns_them_round(compute, send, n):
    return waits_behind(compute, send, n)[::-1]


def returns_its_own(compute, send, n):
    mine = []
    for k in range(n):
        mine.append(compute(k))
    return mine


# gathers ahead ------------------------------------------------------------------------------------------------------
def a_window(gather, compute, n, ahead):
    handles, found = {}, []
    for k in range(n):
        for j in range(len(handles), min(k + ahead + 1, n)):
            handles[j] = gather(j)
        found.append(compute(k, handles[k].wait()))
    return found


def a_queue(gather, compute, n, ahead):
    units = iter(range(n))
    flying = [gather(k) for _, k in zip(range(ahead + 1), units, strict=False)]
    found = []
    for k in range(n):
        found.append(compute(k, flying.pop(0).wait()))
        flying.extend(gather(j) for _, j in zip(range(1), units, strict=False))
    return found


def all_at_once(gather, compute, n, ahead):
    handles = [gather(k) for k in range(n)]
    return [compute(k, handles[k].wait()) for k in range(n)]


def one_at_a_time(gather, compute, n, ahead):
    return [compute(k, gather(k).wait()) for k in range(n)]


def waits_early(gather, compute, n, ahead):
    first = [gather(k).wait() for k in range(min(ahead + 1, n))]
    found = []
    for k in range(n):
        found.append(compute(k, first[k]))
        if len(first) < n:
            first.append(gather(len(first)).wait())
    return found


def does_not_wait(gather, compute, n, ahead):
    return [compute(k, gather(k).result) for k in range(n)]


RIGHT = {late_waits: [waits_behind, waits_from_the_last], gathers_ahead: [a_window, a_queue]}
WRONG = [
    (late_waits, waits_at_once, "2 layers, rank 0: waits for gradient 0 while layers are left to compute"),
    (late_waits, sends_behind, "2 layers, rank 0: layer 1 computes before gradient 0 has left"),
    (late_waits, forgets_to_wait, "1 layers, rank 0: nobody waits for gradient 0"),
    (late_waits, sends_and_forgets, "nobody waits for gradient 0"),
    (late_waits, turns_them_round, "2 layers, rank 0: the sums are not those of all ranks"),
    (late_waits, returns_its_own, "1 layers, rank 0: gradient 0 is never sent"),
    (gathers_ahead, all_at_once, "3 units, 0 ahead, rank 0: holds 2 units when it asks for unit 1, 1 are allowed"),
    (gathers_ahead, one_at_a_time, "3 units, 1 ahead, rank 0: when unit 0 computes 1 units were asked for"),
    (gathers_ahead, waits_early, "3 units, 1 ahead, rank 0: waits for unit 1 before unit 0 has computed"),
    (gathers_ahead, does_not_wait, "1 units, 0 ahead, rank 0: unit 0 computes, and nobody has waited for it"),
]


@pytest.mark.parametrize(("check", "answer"), [(c, a) for c, those in RIGHT.items() for a in those])
def test_accepts_what_is_right(ranks, check, answer):
    found = check(answer, ranks)
    assert found.passed, found


@pytest.mark.parametrize(("check", "answer", "words"), WRONG, ids=lambda f: getattr(f, "__name__", ""))
def test_refuses_what_is_wrong(ranks, check, answer, words):
    refused(check(answer, ranks), words)


def test_without_a_pool_it_starts_ranks_of_its_own():
    assert "waits for gradient 0" in str(late_waits(waits_at_once))


# the page's own solutions -------------------------------------------------------------------------------------------
def test_the_solutions_on_the_page_solve(ranks):
    place = solutions("overlap")
    assert exposed_time(place["my_exposed"]).passed
    assert late_waits(place["my_sums"], ranks).passed
    assert gathers_ahead(place["my_forward"], ranks).passed
