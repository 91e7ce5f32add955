"""Bad input: a clear error that names the value and what was expected, and nothing was started."""

from __future__ import annotations

import pynvml
import pytest

from helpers.ranks import Ranks, devices, launch, world


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch):
    def refuse(*args):
        raise AssertionError("a process was started")

    monkeypatch.setattr(launch.Team, "_start", refuse)


@pytest.mark.parametrize("n", [0, -1, 65, 10**9])
def test_a_number_of_ranks_out_of_range(n):
    for make in (Ranks, world):
        with pytest.raises(ValueError, match=rf"lies in 1..64, got {n}"):
            make(n)


@pytest.mark.parametrize("n", [2.0, "4", True, [4]])
def test_a_number_of_ranks_that_is_no_number(n):
    for make in (Ranks, world):
        with pytest.raises(TypeError, match="whole number, got"):
            make(n)


def test_more_ranks_than_memory(monkeypatch):
    monkeypatch.setattr(devices, "free_nbytes", lambda: 600_000_000)
    with pytest.raises(
        ValueError, match=r"3 ranks want 750 MB of free memory \(250 MB each\), 600 MB are free: at most 2 fit"
    ):
        Ranks(3, backend="gloo")


def test_more_nccl_ranks_than_gpus(monkeypatch):
    monkeypatch.setattr(devices, "find_gpus", lambda: devices.Gpus(("H100",)))
    with pytest.raises(ValueError, match="NCCL takes one GPU per rank: 2 asked for, 1 usable here"):
        Ranks(2, backend="nccl")


@pytest.mark.parametrize(
    "options, said",
    [
        ({"backend": "mpi"}, 'backend must be "nccl", "gloo" or None .* got \'mpi\''),
        ({"timeout": 0}, "timeout is a number of seconds > 0, got 0"),
        ({"timeout": "long"}, "timeout is a number of seconds > 0, got 'long'"),
        ({"env": {"A": 1}}, "env maps names to strings, got 'A': 1"),
    ],
)
def test_options(options, said):
    with pytest.raises((ValueError, TypeError), match=said):
        Ranks(2, **({"backend": "gloo"} | options))


# GPUs: the driver's answers are played ------------------------------------------------------------------------------
class Driver:
    """Two GPUs and a driver for CUDA 12.8, as pynvml shows them."""

    def __init__(self, monkeypatch, names=("NVIDIA H100", "NVIDIA H100"), cuda=12080, torch_cuda="12.8"):
        answers = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetCount": lambda: len(names),
            "nvmlDeviceGetHandleByIndex": lambda i: i,
            "nvmlDeviceGetName": lambda i: names[i],
            "nvmlDeviceGetUUID": lambda i: f"GPU-{i}abc",
            "nvmlSystemGetCudaDriverVersion_v2": lambda: cuda,
        }
        for name, answer in answers.items():
            monkeypatch.setattr(pynvml, name, answer)
        monkeypatch.setattr(devices.torch.version, "cuda", torch_cuda)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_all_gpus_when_there_are_two_or_more(monkeypatch):
    Driver(monkeypatch)
    found = devices.plan()
    assert (found.nranks, found.backend, found.devices) == (2, "nccl", ("cuda:0", "cuda:1"))
    assert str(found) == "2 ranks, nccl, 2 x NVIDIA H100"
    assert devices.plan(1).backend == "nccl"


def test_too_few_gpus_fall_to_the_cpu_and_it_is_said(monkeypatch):
    Driver(monkeypatch, names=("NVIDIA H200",))
    assert str(devices.plan()).startswith("4 ranks, gloo, CPU\n1 x NVIDIA H200 here, fewer than ranks")
    assert devices.plan(2).backend == "gloo" and devices.plan(1).backend == "nccl"


@pytest.mark.parametrize("visible, count", [("0", 1), ("", 0), ("-1", 0), ("1,0", 2), ("0,7,1", 1), ("GPU-1", 1)])
def test_hidden_gpus_do_not_count(monkeypatch, visible, count):
    Driver(monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert len(devices.find_gpus().names) == count


@pytest.mark.parametrize(
    "torch_cuda, driver, said",
    [
        (None, 12080, "this torch is a CPU build"),
        ("13.0", 12080, "runs CUDA up to 12.8, this torch wants CUDA 13.0.*Update the driver"),
    ],
)
def test_a_gpu_that_cannot_be_used_is_loud(monkeypatch, torch_cuda, driver, said):
    Driver(monkeypatch, cuda=driver, torch_cuda=torch_cuda)
    with pytest.warns(RuntimeWarning, match=said):
        found = devices.plan()
    assert found.backend == "gloo" and "run on the CPU" in str(found)


def test_a_gpu_without_a_driver_is_loud(monkeypatch):
    def no_driver():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", no_driver)
    monkeypatch.setattr(devices, "_reads", lambda path, start: True)
    monkeypatch.setattr(devices.Path, "glob", lambda self, pattern: iter([devices.Path("vendor")]))
    with pytest.warns(RuntimeWarning, match="its driver does not answer .* Install the NVIDIA driver"):
        assert devices.plan().backend == "gloo"


def test_no_gpu_is_no_trouble(monkeypatch):
    def no_driver():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", no_driver)
    monkeypatch.setattr(devices, "_reads", lambda path, start: False)
    assert devices.find_gpus() == devices.Gpus()
