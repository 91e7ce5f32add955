"""The checkers of the chapter `expert`: two run real ranks; all accept what is right and refuse what is not, with the place."""

import pytest
import torch
import torch.distributed as dist
from lanes import some_rows

from helpers.exercises.expert import averaged, kept_choices, split_sizes


# sizes -------------------------------------------------------------------------------------------------------------
def counts_first(chosen, experts):
    nranks = dist.get_world_size()
    sending = chosen.flatten().bincount(minlength=experts).view(nranks, -1).sum(1)
    receiving = torch.empty_like(sending)
    dist.all_to_all_single(receiving, sending)
    return sending, receiving


def what_i_send_comes_back(chosen, experts):
    sending, _ = counts_first(chosen, experts)
    return sending, sending


def experts_are_ranks(chosen, experts):
    sending = chosen.flatten().bincount(minlength=experts)
    receiving = torch.empty_like(sending)
    dist.all_to_all_single(receiving, sending)
    return sending, receiving


def equal_parts(chosen, experts):
    nranks = dist.get_world_size()
    return [chosen.numel() // nranks] * nranks, [chosen.numel() // nranks] * nranks


def only_the_first_choice(chosen, experts):
    return counts_first(chosen[:, :1], experts)


def one_of_them_stays_away(chosen, experts):
    return counts_first(chosen, experts) if dist.get_rank() else ([0], [0])


# capacity ----------------------------------------------------------------------------------------------------------
def first_choices_first(chosen, experts, slots):
    taken, kept = [0] * experts, [[False] * len(choices) for choices in chosen]
    for choice in range(len(chosen[0])):
        for token, choices in enumerate(chosen):
            if taken[choices[choice]] < slots:
                taken[choices[choice]] += 1
                kept[token][choice] = True
    return kept


def token_by_token(chosen, experts, slots):
    taken, kept = [0] * experts, []
    for choices in chosen:
        kept.append([])
        for expert in choices:
            kept[-1].append(taken[expert] < slots)
            taken[expert] += 1
    return kept


def the_late_first(chosen, experts, slots):
    return first_choices_first(chosen[::-1], experts, slots)[::-1]


def nobody_is_dropped(chosen, experts, slots):
    return [[True] * len(choices) for choices in chosen]


def whole_tokens(chosen, experts, slots):
    return [[all(choices)] * len(choices) for choices in first_choices_first(chosen, experts, slots)]


# gradients ---------------------------------------------------------------------------------------------------------
def among_their_likes(grad, is_expert, experts, alike):
    dist.all_reduce(grad, group=alike if is_expert else None)
    return grad / dist.get_world_size()


def everything_among_all(grad, is_expert, experts, alike):
    dist.all_reduce(grad)
    return grad / dist.get_world_size()


def mean_among_likes(grad, is_expert, experts, alike):
    group = alike if is_expert else dist.group.WORLD
    dist.all_reduce(grad, group=group)
    return grad / group.size()


def experts_among_experts(grad, is_expert, experts, alike):
    dist.all_reduce(grad, group=experts if is_expert else None)
    return grad / dist.get_world_size()


def experts_stay(grad, is_expert, experts, alike):
    return grad / 4 if is_expert else everything_among_all(grad, is_expert, experts, alike)


RIGHT = [(split_sizes, counts_first), (kept_choices, first_choices_first), (averaged, among_their_likes)]
WRONG = [
    (split_sizes, what_i_send_comes_back, "At 2 ranks, 4 experts, top 1: rank 0 returns", "come in as"),
    (split_sizes, experts_are_ranks, "At 2 ranks, 4 experts, top 1: ", ""),
    (split_sizes, equal_parts, "At 2 ranks, 4 experts, top 1: rank 0 returns [[3, 3], [3, 3]]", "come in as"),
    (split_sizes, only_the_first_choice, "At 4 ranks, 4 experts, top 2: rank 0 returns", "go out as"),
    (split_sizes, one_of_them_stays_away, "At 2 ranks, 4 experts, top 1: ", "all_to_all"),
    (kept_choices, token_by_token, "Tokens that chose", "who is served first"),
    (kept_choices, the_late_first, "Tokens that chose", "you keep"),
    (kept_choices, nobody_is_dropped, "Tokens that chose", "1 slot an expert"),
    (kept_choices, whole_tokens, "Tokens that chose", "you keep"),
    (averaged, everything_among_all, "For the gradient of an expert: rank 0 returns", "[4352.0"),
    (averaged, mean_among_likes, "For the gradient of an expert: rank 0 returns [8704.0", "over how many"),
    (averaged, experts_among_experts, "For the gradient of an expert: rank 0 returns [1280.0", "which ranks hold"),
    (averaged, experts_stay, "For the gradient of an expert: rank 0 returns [256.0", "which ranks hold"),
]


@pytest.mark.parametrize(("check", "answer"), RIGHT, ids=lambda one: one.__name__)
def test_an_expert_answer_that_is_right(check, answer):
    found = check(answer)
    assert found.passed, found


@pytest.mark.parametrize(
    ("check", "answer", "first", "then"),
    some_rows(WRONG, WRONG[::3], "more wrong answers"),
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_an_expert_answer_that_is_wrong(check, answer, first, then):
    found = check(answer)
    assert not found.passed and str(found).startswith(f"Not yet. {first}") and then in str(found), found
