"""The checkers of the chapter `data-parallel`: real ranks weigh tokens and send buckets, and what is wrong is refused."""

import pytest
import torch.distributed as dist
from lanes import some_rows
from solutions import refused, solutions
from torch import tensor

from helpers.exercises.data_parallel import busiest_port, early_buckets, token_weights


def everybodys_count(params, total, count):
    everybodys = tensor(count)
    dist.all_reduce(everybodys)
    (total / everybodys).backward()
    for p in params:
        dist.all_reduce(p.grad)


def divides_afterwards(params, total, count):
    total.backward()
    everybodys = tensor(float(count))
    dist.all_reduce(everybodys)
    for p in params:
        dist.all_reduce(p.grad)
        p.grad /= everybodys


def mean_of_means(params, total, count):
    (total / max(count, 1)).backward()
    for p in params:
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)


def sum_of_sums(params, total, count):
    total.backward()
    for p in params:
        dist.all_reduce(p.grad)


def stays_at_home(params, total, count):
    (total / count).backward()


def does_not_come_without_samples(params, total, count):
    if count:
        everybodys_count(params, total, count)


def no_backward(params, total, count):
    dist.all_reduce(tensor(count))


def filled_from_the_end(nbytes, full):
    buckets, held = [[]], 0
    for name in reversed(nbytes):
        if held >= full:
            buckets.append([])
            held = 0
        buckets[-1].append(name)
        held += nbytes[name]
    return buckets


def filled_from_the_front(nbytes, full):
    return filled_from_the_end(dict(reversed(nbytes.items())), full)


def all_in_one(nbytes, full):
    return [list(nbytes)]


def one_each(nbytes, full):
    return [[name] for name in reversed(nbytes)]


def largest_first(nbytes, full):
    return filled_from_the_end(dict(sorted(nbytes.items(), key=lambda item: item[1])), full)


def two_each(nbytes, full):
    backwards = list(reversed(nbytes))
    return [backwards[i : i + 2] for i in range(0, len(backwards), 2)]


def forgets_the_rest(nbytes, full):
    return filled_from_the_end(nbytes, full)[:1]


def the_right_numbers(nranks, nbytes):
    return (nranks - 1) * nbytes, nbytes, 2 * (nranks - 1) * nbytes // nranks


def everybody_alike(nranks, nbytes):
    return nbytes, nbytes, 2 * (nranks - 1) * nbytes // nranks


def sends_to_itself(nranks, nbytes):
    return nranks * nbytes, nbytes, 2 * (nranks - 1) * nbytes // nranks


def all_to_all_others(nranks, nbytes):
    return (nranks - 1) * nbytes, nbytes, (nranks - 1) * nbytes


RIGHT = [
    (token_weights, everybodys_count),
    (token_weights, divides_afterwards),
    (early_buckets, filled_from_the_end),
    (busiest_port, the_right_numbers),
]
WRONG = [
    (token_weights, mean_of_means, "At 1 + 2 + 3 + 4 samples: the gradients of rank 0 are up to"),
    (token_weights, sum_of_sums, "At 3 + 3 + 3 + 3 samples: the gradients of rank 0 are up to"),
    (token_weights, stays_at_home, "At 3 + 3 + 3 + 3 samples: the gradients of rank 0 are up to"),
    (token_weights, does_not_come_without_samples, "At 0 + 5 + 1 + 1 samples: "),
    (token_weights, no_backward, "At 3 + 3 + 3 + 3 samples: rank 0 has a parameter without a gradient"),
    (early_buckets, filled_from_the_front, "full at 16: bucket 0 leaves after gradient 4, and could after 2"),
    (early_buckets, all_in_one, "full at 16: bucket 0 leaves after gradient 4, and could after 2"),
    (early_buckets, one_each, "full at 16: bucket 0 holds 8 bytes and is not the last"),
    (early_buckets, largest_first, "full at 24: bucket 0 leaves after gradient 4, and could after 3"),
    (early_buckets, two_each, "full at 24: bucket 0 holds 16 bytes and is not the last"),
    (early_buckets, forgets_the_rest, "full at 16: every gradient goes into one bucket, got [['last', 'third']]"),
    (busiest_port, everybody_alike, "At 4 ranks and 1024 bytes: from the server leave 3072 bytes, not 1024"),
    (busiest_port, sends_to_itself, "At 4 ranks and 1024 bytes: from the server leave 3072 bytes, not 4096"),
    (busiest_port, all_to_all_others, "from a rank of the all_reduce leave 1536 bytes, not 3072"),
]


@pytest.mark.parametrize(("check", "answer"), RIGHT, ids=lambda f: f.__name__)
def test_accepts_what_is_right(check, answer):
    found = check(answer)
    assert found.passed, found


@pytest.mark.parametrize(
    ("check", "answer", "said"),
    some_rows(WRONG, WRONG[::3], "more wrong answers"),
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_refuses_what_is_wrong(check, answer, said):
    refused(check(answer), said)


def test_the_solution_on_the_page_solves_it():
    found = token_weights(solutions("data-parallel", tensor=tensor, dist=dist)["my_gradients"])
    assert found.passed, found
