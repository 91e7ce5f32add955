"""The checkers of the chapter `hangs` run real ranks: they accept what is right, and refuse what hangs with its report."""

import psutil
import pytest
import torch
import torch.distributed as dist
from lanes import some, some_rows
from solutions import solutions

from helpers.exercises.hangs import neighbours, refuses_other_names, uneven_batches
from helpers.facts import lookup


# the mean over batches of which every rank has another number ------------------------------------------------------
def sums_first(batches):
    total = torch.stack([torch.zeros(3), *batches]).sum(0)
    count = torch.tensor(float(len(batches)))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count


def as_many_rounds_as_the_longest(batches):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, dist.ReduceOp.MAX)
    total, count = torch.zeros(3), torch.zeros(1)
    for k in range(int(rounds)):
        row = torch.cat([batches[k], torch.ones(1)]) if k < len(batches) else torch.zeros(4)
        dist.all_reduce(row)
        total, count = total + row[:3], count + row[3:]
    return total / count


def gathers_all(batches):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, batches)
    return torch.stack([batch for one in found for batch in one]).mean(0)


def a_round_for_each_batch(batches):
    total, count = torch.zeros(3), torch.zeros(1)
    for batch in batches:
        row = torch.cat([batch, torch.ones(1)])
        dist.all_reduce(row)
        total, count = total + row[:3], count + row[3:]
    return total / count


def mean_of_means(batches):
    mean = torch.stack(batches).mean(0) if batches else torch.zeros(3)
    dist.all_reduce(mean)
    return mean / dist.get_world_size()


def stays_away_without_batches(batches):
    return sums_first(batches) if batches else torch.zeros(3)


def its_own_mean(batches):
    return torch.stack(batches).mean(0)


def returns_nothing(batches):
    sums_first(batches)


# a ring of neighbours ----------------------------------------------------------------------------------------------
def both_at_once(x):
    rank, size = dist.get_rank(), dist.get_world_size()
    y = torch.empty_like(x)
    ops = [dist.P2POp(dist.isend, x, (rank + 1) % size), dist.P2POp(dist.irecv, y, (rank - 1) % size)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return y


def the_first_receives_first(x):
    rank, size = dist.get_rank(), dist.get_world_size()
    y = torch.empty_like(x)
    if rank == 0:
        dist.recv(y, size - 1)
        dist.send(x, 1 % size)
    else:
        dist.send(x, (rank + 1) % size)
        dist.recv(y, rank - 1)
    return y


def everybody_sends_first(x):
    rank, size = dist.get_rank(), dist.get_world_size()
    y = torch.empty_like(x)
    dist.send(x, (rank + 1) % size)
    dist.recv(y, (rank - 1) % size)
    return y


def everybody_receives_first(x):
    rank, size = dist.get_rank(), dist.get_world_size()
    y = torch.empty_like(x)
    dist.recv(y, (rank - 1) % size)
    dist.send(x, (rank + 1) % size)
    return y


def to_the_left(x):
    rank, size = dist.get_rank(), dist.get_world_size()
    y = torch.empty_like(x)
    ops = [dist.P2POp(dist.isend, x, (rank - 1) % size), dist.P2POp(dist.irecv, y, (rank + 1) % size)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return y


def forgets_to_receive(x):
    dist.isend(x, (dist.get_rank() + 1) % dist.get_world_size())
    return x


# a guard that sees the names ---------------------------------------------------------------------------------------
def asks_for_names(name, x):
    names = [None] * dist.get_world_size()
    dist.all_gather_object(names, name)
    if len(set(names)) > 1:
        raise ValueError(f"ranks came with {names}")
    dist.all_reduce(x)


def checks_nothing(name, x):
    dist.all_reduce(x)


def compares_with_rank_0_only(name, x):
    said = [name]
    dist.broadcast_object_list(said, 0)
    if said[0] != name:
        raise ValueError(f"rank 0 came with {said[0]}")
    dist.all_reduce(x)


def always_refuses(name, x):
    raise ValueError("no")


def forgets_to_reduce(name, x):
    names = [None] * dist.get_world_size()
    dist.all_gather_object(names, name)
    if len(set(names)) > 1:
        raise ValueError(f"ranks came with {names}")


RIGHT = {
    uneven_batches: [sums_first, as_many_rounds_as_the_longest, gathers_all],
    neighbours: [both_at_once, the_first_receives_first],
    refuses_other_names: [asks_for_names],
}
WRONG = [
    (uneven_batches, a_round_for_each_batch, "At 2 + 1 batches: ", "waiting in all_reduce #2 of float32[4] at"),
    (uneven_batches, mean_of_means, "At 2 + 1 batches: rank 0 returns [1260.0, 210.0, 840.0], the mean is", "1120.0"),
    (uneven_batches, stays_away_without_batches, "At 0 + 2 + 5 batches: ", "rank 0: finished"),
    (uneven_batches, its_own_mean, "At 1 + 1 batches: rank 0 returns [840.0, 0.0, 840.0]", "[1260.0, 0.0, 840.0]"),
    (uneven_batches, returns_nothing, "At 1 + 1 batches: rank 0 returns None", ""),
    (neighbours, everybody_sends_first, "At 2 ranks: ", "waiting in send to rank 1 of float32[4] at"),
    (neighbours, everybody_receives_first, "At 2 ranks: ", "waiting in recv from rank 1 of float32[4] at"),
    (neighbours, to_the_left, "At 3 ranks: rank 0 returns [1.0", "its left neighbour sent [2.0"),
    (neighbours, forgets_to_receive, "At 2 ranks: ", "finished without receiving what it was sent by rank"),
    (refuses_other_names, checks_nothing, "At 2 ranks when rank 0 comes with another name: rank 0 raises nothing", ""),
    (refuses_other_names, compares_with_rank_0_only, "At 2 ranks when rank 0 comes with another name: ", "rank 0"),
    (refuses_other_names, always_refuses, "At 2 ranks with one name: rank 0 raises ValueError: no", ""),
    (refuses_other_names, forgets_to_reduce, "At 2 ranks with one name: rank 0 holds 1.0, the sum is 2", ""),
]


ACCEPTED = [(check, answer) for check, found in RIGHT.items() for answer in found]
LEFT_OUT = [
    (refuses_other_names, asks_for_names),
    (uneven_batches, as_many_rounds_as_the_longest),
    (uneven_batches, gathers_all),
]
EACH = some(ACCEPTED, [pair for pair in ACCEPTED if pair not in LEFT_OUT], "further right answers of one exercise")


@pytest.mark.parametrize("pair", EACH, ids=lambda pair: pair[1].__name__)
def test_accepts_what_is_right(pair):
    check, answer = pair
    found = check(answer)
    assert found.passed, found


@pytest.mark.parametrize(
    ("check", "answer", "first", "then"),
    some_rows(WRONG, WRONG[::3], "more wrong answers"),
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_refuses_what_is_wrong(check, answer, first, then):
    found = check(answer)
    assert not found.passed and str(found).startswith(f"Not yet. {first}") and then in str(found), found


def test_no_rank_is_left_of_an_answer_that_hangs():
    neighbours(both_at_once)  # now the server from which ranks are forked is there, and stays
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    assert not uneven_batches(a_round_for_each_batch).passed
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_the_solution_on_the_page_solves_it():
    found = uneven_batches(solutions("hangs", torch=torch, dist=dist)["my_mean"])
    assert found.passed, found


def test_the_default_timeout_on_the_page_is_torchs():
    assert dist.constants.default_pg_timeout.total_seconds() == lookup("torch.gloo.timeout").quantity
    if dist.constants.default_pg_nccl_timeout:
        assert dist.constants.default_pg_nccl_timeout.total_seconds() == lookup("torch.nccl.timeout").quantity
