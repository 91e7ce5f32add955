"""Transfers and pairs: refused where there is nothing to copy to, printed with their direction, and run where there are GPUs."""

import json

import pytest
import torch

from helpers.measure import HostCopy, Pairs, pairs, transfers
from helpers.ranks.recorded import _plain
from helpers.units import KIB, MIB


def test_a_cpu_is_no_other_end():
    with pytest.raises(ValueError, match=r"between host and GPU, so device is .* got cpu"):
        transfers("cpu")


@pytest.mark.parametrize(
    "question, said",
    [
        (lambda: transfers("cuda", sizes=()), "whole numbers of bytes, 1 or more, got \\(\\)"),
        (lambda: transfers("cuda", sizes=(0,)), "1 or more, got \\(0,\\)"),
        (lambda: transfers("cuda", sizes=(1.5,)), "1 or more, got \\(1.5,\\)"),
        (lambda: transfers("cuda", repeats=2), "3 or more, got 2"),
        (lambda: transfers("tpu"), "got 'tpu'"),
        (lambda: pairs(nbytes=0), "1 or more, got 0"),
        (lambda: pairs(repeats=0), "3 or more, got 0"),
    ],
)
def test_wrong_questions_are_refused_wherever_one_asks(question, said):
    with pytest.raises(ValueError, match=said):
        question()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize("question, said", [(transfers, "device cuda needs a GPU: "), (pairs, "a pair needs 2 GPUs: ")])
def test_missing_gpus_are_named(question, said):
    with pytest.raises(RuntimeError, match=said):
        question()


def test_one_way_and_both_ways_are_said():
    assert str(HostCopy("to the GPU", "pinned", MIB, 1e-4, 25e9)).endswith("1 MiB       25 GB/s one way")
    assert str(HostCopy("both at once", "pinned", MIB, 1e-4, 48e9)).endswith("48 GB/s both ways")


def test_a_matrix_prints_and_goes_into_a_recorded_run():
    found = Pairs(("X", "X"), MIB, ((None, 25e9), (1e9, None)), ((True, True), (False, True)))
    assert [line.split() for line in str(found).splitlines()[1:]] == [
        ["to", "0", "to", "1"],
        ["from", "0", "-", "25"],
        ["from", "1", "1*", "-"],
    ]
    assert json.loads(json.dumps(_plain(found)))["bandwidth"] == [[None, 25e9], [1e9, None]]


@pytest.mark.gpus(1)
def test_pinned_memory_goes_both_ways_and_pageable_one():
    rows = transfers("cuda", sizes=(64 * KIB, 64 * MIB))
    assert [(row.way, row.host) for row in rows[:5]] == [
        ("to the GPU", "pinned"),
        ("to the host", "pinned"),
        ("both at once", "pinned"),
        ("to the GPU", "pageable"),
        ("to the host", "pageable"),
    ]
    copies = [row.bandwidth * row.seconds / row.nbytes for row in rows]
    assert copies == pytest.approx([1, 1, 2, 1, 1] * 2)


@pytest.mark.gpus(2)
def test_every_gpu_reaches_every_other():
    found = pairs(64 * MIB)
    count = torch.cuda.device_count()
    assert [len(row) for row in found.bandwidth] == [count] * count
    assert all((rate is None) == (i == j) for i, row in enumerate(found.bandwidth) for j, rate in enumerate(row))
