"""Out-of-memory messages of torch 1.13 to 2.15: every number, what would have been enough, and who is not accused."""

from __future__ import annotations

import re

import pytest

from helpers.yours import is_my_number_good
from helpers.yours.words.memory import out_of_memory

KIB, MIB, GIB = 2**10, 2**20, 2**30
TIPS = {
    "1.13": " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation",
    "2.1": " If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation",
    "2.4": " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid",
    "2.15": " If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid",
}


JAX = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."


def size(nbytes):
    """As torch's format_size writes it."""
    for unit, one in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if nbytes >= one:
            return f"{nbytes / one:.2f} {unit}"
    return f"{nbytes} bytes"


def old(asked, total, allocated, free, reserved, allowed=None, gpu=0):
    """Up to 2.0."""
    limit = f"{size(allowed)} allowed; " if allowed else ""
    return (
        f"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate {size(asked)} (GPU {gpu}; {size(total)} total capacity;"
        f" {size(allocated)} already allocated; {size(free)} free; {limit}{size(reserved)} reserved in total by PyTorch){TIPS['1.13']}"
    )


def new(
    asked,
    total,
    free,
    allocated,
    loose,
    own=None,
    others=(),
    pools=0,
    allowed=None,
    gpu=0,
    version="2.4",
    device="CUDA",
):
    """From 2.1 on. others: (pid, bytes)."""
    word = "capacty" if version == "2.1" else "capacity"
    processes = "".join(f"Process {pid} has {size(nbytes)} memory in use. " for pid, nbytes in others)
    processes += f"Including non-PyTorch memory, this process has {size(own)} memory in use. " if own else ""
    limit = f"{size(allowed)} allowed; " if allowed else ""
    graphs = f"with {size(pools)} allocated in private pools (e.g., CUDA Graphs), " if pools else ""
    return (
        f"torch.OutOfMemoryError: {device} out of memory. Tried to allocate {size(asked)}. GPU {gpu} has a total {word} of {size(total)}"
        f" of which {size(free)} is free. {processes}{limit}Of the allocated memory {size(allocated)} is allocated by PyTorch, {graphs}and"
        f" {size(loose)} is reserved by PyTorch but unallocated.{TIPS[version]}"
    )


FULL = {
    "asked": 2 * GIB,
    "total": 80 * GIB,
    "free": GIB,
    "allocated": 77 * GIB,
    "loose": 256 * MIB,
    "own": 78 * GIB + 768 * MIB,
}
READ = {
    "1.13": (old(512 * MIB, 24 * GIB, 20 * GIB, 128 * MIB, 21 * GIB), (512 * MIB, 24 * GIB, 128 * MIB, 20 * GIB, GIB, None, ())),
    "1.3": (
        f"CUDA out of memory. Tried to allocate {size(MIB)} (GPU 0; {size(8 * GIB)} total capacity; {size(7 * GIB)} already allocated;"
        f" 512 bytes free; {size(3 * MIB)} cached)",
        (MIB, 8 * GIB, 512, 7 * GIB, 3 * MIB, None, ()),
    ),
    "1.13, limited": (old(MIB, 8 * GIB, GIB, 512, 2 * GIB, 4 * GIB), (MIB, 8 * GIB, 512, GIB, GIB, None, ())),
    "2.1": (new(**FULL, version="2.1"), (2 * GIB, 80 * GIB, GIB, 77 * GIB, 256 * MIB, 78 * GIB + 768 * MIB, ())),
    "2.4": (new(**FULL), (2 * GIB, 80 * GIB, GIB, 77 * GIB, 256 * MIB, 78 * GIB + 768 * MIB, ())),
    "2.15": (new(**FULL, version="2.15"), (2 * GIB, 80 * GIB, GIB, 77 * GIB, 256 * MIB, 78 * GIB + 768 * MIB, ())),
    "HIP": (new(**FULL, device="HIP"), (2 * GIB, 80 * GIB, GIB, 77 * GIB, 256 * MIB, 78 * GIB + 768 * MIB, ())),
    "graphs": (new(**FULL, pools=MIB), (2 * GIB, 80 * GIB, GIB, 77 * GIB, 256 * MIB, 78 * GIB + 768 * MIB, ())),
    "two processes": (
        new(GIB, 80 * GIB, 0, 30 * GIB, MIB, 31 * GIB, ((77, 40 * GIB), (78, 2 * GIB))),
        (GIB, 80 * GIB, 0, 30 * GIB, MIB, 31 * GIB, ((77, 40 * GIB), (78, 2 * GIB))),
    ),
    "in a container": (
        new(GIB, 80 * GIB, 0, 30 * GIB, MIB, None, ((77, 40 * GIB), (78, 31 * GIB))),
        (GIB, 80 * GIB, 0, 30 * GIB, MIB, 31 * GIB, ((77, 40 * GIB),)),
    ),
    "NVML knows nothing": (
        new(GIB, 80 * GIB, 0, 30 * GIB, MIB, 2**64, ((77, 2**64),)),
        (GIB, 80 * GIB, 0, 30 * GIB, MIB, None, ()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_every_number_is_read(name):
    text, right = READ[name]
    (one,) = out_of_memory(text)
    assert (one.asked, one.total, one.free, one.allocated, one.unallocated, one.own, one.others) == right


def wrapped(text):
    return "\n".join(re.findall(r".{1,70}(?: |$)", text))


AROUND = {
    "a rank": lambda text: f"[rank3]: {text}",
    "torchrun's tee": lambda text: f"[default3]:[rank3]: {text}",
    "Slurm": lambda text: f"3: {text}",
    "Ray": lambda text: f"(Worker pid=7, ip=10.0.0.1, rank=3) {text}",
    "a clock and a colour": lambda text: f"\x1b[31m2026-01-02T03:04:05.123Z\x1b[0m [rank3]: {text}",
    "wrapped": lambda text: f"[rank3]: {wrapped(text)}",
    "Windows": lambda text: f"[rank3]: {wrapped(text)}".replace("\n", "\r\n"),
    "a trainer's log": lambda text: f"{{'loss': 0.7, 'epoch': 1.0}}\n[rank3]: {text}\n{{'loss': 0.6}}\n",
    "quoted": lambda text: "\n".join(f"> {line}" for line in wrapped(f"[rank3]: {text}").split("\n")),
}


@pytest.mark.parametrize("name", AROUND)
@pytest.mark.parametrize("text", [READ["1.13"][0], READ["2.15"][0]], ids=["1.13", "2.15"])
def test_what_stands_around_it_changes_nothing(text, name):
    found = is_my_number_good(AROUND[name](text))
    assert found.what == "an out-of-memory error of torch, rank 3, GPU 0"
    assert found.sentence == is_my_number_good(text).sentence


CARD = 80 * GIB
BOTH = ["other processes", "fragmentation"]
CAUSES = {
    "nothing to win": (new(**FULL), ["out of memory"]),
    "of a card long ago": (old(128 * MIB, 11 * GIB, 10 * GIB + 800 * MIB, 20 * MIB, 10 * GIB + 812 * MIB), ["out of memory"]),
    "a few holes are no fragmentation": (new(20 * MIB, CARD, 9 * MIB, 77 * GIB, 17 * MIB, 79 * GIB), ["out of memory"]),
    "in holes, of a card that is nearly full": (
        new(224 * MIB, 15 * GIB, 11 * MIB, 14 * GIB, 510 * MIB, None, ((9, 15 * GIB - 20 * MIB),)),
        ["out of memory"],
    ),
    "in large holes, of a card that is nearly full": (new(2 * GIB, CARD, 300 * MIB, 73 * GIB, 6 * GIB, 79 * GIB), ["fragmentation"]),
    "in holes": (new(4 * GIB, CARD, GIB, 60 * GIB, 18 * GIB, 79 * GIB), ["fragmentation"]),
    "in holes, of 1.13": (old(4 * GIB, CARD, 60 * GIB, GIB, 78 * GIB), ["fragmentation"]),
    "of another": (new(4 * GIB, CARD, GIB, 30 * GIB, MIB, 31 * GIB, ((9, 47 * GIB),)), ["other processes"]),
    "of another, in a container": (new(4 * GIB, CARD, GIB, 30 * GIB, MIB, None, ((9, 47 * GIB), (8, 31 * GIB))), ["other processes"]),
    "of nobody that is named": (new(4 * GIB, CARD, GIB, 30 * GIB, MIB, 31 * GIB), ["other processes"]),
    "of nobody, of 1.13": (old(1700 * MIB, 15 * GIB, 650 * MIB, 1300 * MIB, GIB), ["other processes"]),
    "a desktop beside it": (new(2 * GIB, CARD, GIB, 77 * GIB, 256 * MIB, 78 * GIB, ((9, 512 * MIB),)), ["out of memory"]),
    "of another, and in holes": (new(2 * GIB, CARD, GIB, 30 * GIB, 8 * GIB, 39 * GIB, ((9, 39 * GIB),)), BOTH),
    "seven contexts": (
        new(2 * GIB, CARD, GIB, 70 * GIB, MIB, 71 * GIB, [(pid, 520 * MIB) for pid in range(7)]),
        ["ranks on one GPU"],
    ),
    "larger than any card": (new(6000 * GIB, CARD, 70 * GIB, 8 * GIB, MIB, 9 * GIB), ["huge request"]),
    "most of the card": (new(50 * GIB, CARD, 40 * GIB, 38 * GIB, GIB, 40 * GIB), ["huge request"]),
    "a limit": (new(2 * GIB, CARD, 40 * GIB, 39 * GIB, MIB, 40 * GIB, allowed=40 * GIB), ["memory fraction"]),
    "a limit that binds, in three digits": (
        new(2 * MIB, CARD, 70 * GIB, 1017 * MIB, 55 * MIB, None, allowed=1075 * MIB, device="HIP"),
        ["memory fraction"],
    ),
    "a limit that did not bind": (new(2 * GIB, CARD, GIB, 77 * GIB, MIB, 79 * GIB, allowed=79 * GIB), ["out of memory"]),
    "free, and nobody else": (new(2 * GIB, CARD, 40 * GIB, 38 * GIB, MIB, 39 * GIB), []),
    "free, beside another": (new(2 * GIB, CARD, 10 * GIB, 38 * GIB, MIB, 39 * GIB, ((9, 30 * GIB),)), ["other processes"]),
    "free, on Windows": (old(2300 * MIB, 6 * GIB, 780 * MIB, 3 * GIB, 1270 * MIB), []),
    "half of it in holes": (old(10 * GIB, 24 * GIB, GIB, 9 * GIB, 12 * GIB), ["fragmentation"]),
    "cut off": (new(**FULL)[:90], []),
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
def test_what_would_have_been_enough(name):
    text, right = CAUSES[name]
    found = is_my_number_good(text)
    assert not found.refused and list(found.accused) == right
    assert all(one.repair for one in found.causes)


def test_the_sum_is_told_and_adds_up():
    found = is_my_number_good(new(4 * GIB, CARD, GIB, 30 * GIB, 2 * GIB, 33 * GIB, ((9, 45 * GIB),)))
    assert found.sentence == "4 GiB asked for, 1 GiB free of the card's 80 GiB. Look first at: other processes."
    assert found.lines == (
        "80 GiB of the card are:",
        "30 GiB in tensors",
        "2 GiB reserved by PyTorch but unallocated",
        "1 GiB of this process beside PyTorch's allocator: CUDA context, kernels, NCCL",
        "45 GiB of 1 other process",
        "1 GiB free",
        "1 GiB of the driver and whatever is not named",
    )
    assert (
        "which is 25 GiB more than it has"
        in is_my_number_good(new(GIB, 10 * GIB, 0, 30 * GIB, 4 * GIB, 35 * GIB)).lines[-1]
    )


def test_what_was_asked_for_may_be_a_segment():
    assert is_my_number_good(new(20 * MIB, CARD, 9 * MIB, 77 * GIB, 17 * MIB, 79 * GIB)).sentence.startswith(
        "20 MiB asked for (a segment, for a tensor of any size up to it), 9 MiB free of the card's 80 GiB."
    )


KNOBS = {
    "1.13": "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128",
    "2.4": "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    "2.15": "PYTORCH_ALLOC_CONF=expandable_segments:True",
}


@pytest.mark.parametrize("version", KNOBS)
def test_what_closes_the_holes_is_called_as_that_version_calls_it(version):
    text = old(4 * GIB, CARD, 60 * GIB, GIB, 78 * GIB)
    text = text if version == "1.13" else new(4 * GIB, CARD, GIB, 60 * GIB, 18 * GIB, 79 * GIB, version=version)
    assert [one.command for one in is_my_number_good(text).causes] == [KNOBS[version]]


TRACE = """\
[rank{0}]: Traceback (most recent call last):
[rank{0}]:   File "train.py", line 88, in step
[rank{0}]:     loss = model(x)
[rank{0}]:   File "python3.12/site-packages/torch/nn/functional.py", line 3462, in cross_entropy
[rank{0}]:     return torch._C._nn.cross_entropy_loss(
"""


def test_of_several_ranks_the_first_is_judged_and_its_own_line_named():
    text = "".join(f"{TRACE.format(rank)}[rank{rank}]: {new(**FULL, gpu=rank % 4)}\n" for rank in (5, 2, 7))
    found = is_my_number_good(text)
    assert (
        found.what
        == "an out-of-memory error of torch, rank 5, GPU 1; the first of 3 in the text, then rank 2, GPU 2, rank 7, GPU 3"
    )
    assert "Asked for by line 88 of train.py, in step (logits: tokens times vocabulary" in found.sentence
    assert found.accused == ("out of memory",)


SINGLE = {
    JAX: "out of memory",
    "RuntimeError: CUDA error: out of memory": "no room beside PyTorch",
    "RuntimeError: CUDA driver error: out of memory": "no room beside PyTorch",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`": "no room beside PyTorch",
    "node1:9:11 [1] enqueue.cc:90 NCCL WARN Cuda failure 2 'out of memory'": "GPU memory full",
    "node1:9:11 [1] include/alloc.h:99 NCCL WARN Cuda failure 'out of memory'": "GPU memory full",
    'RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":838': "no room beside PyTorch",
    "RuntimeError: [enforce fail at alloc_cpu.cpp:116] . DefaultCPUAllocator: can't allocate memory: you tried to allocate"
    " 17179869184 bytes. Error code 12 (Cannot allocate memory)": "host memory",
}


@pytest.mark.parametrize("text", SINGLE)
def test_messages_without_numbers(text):
    found = is_my_number_good(text)
    assert not found.refused and found.accused[0] == SINGLE[text]


def test_another_error_of_torch_is_refused():
    assert is_my_number_good(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices"
    ).refused
