"""What is here to run on, with the driver's answers played: GPUs counted, shared, and said loudly when they cannot be used."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pynvml
import pytest

from helpers.ranks import Ranks
from helpers.ranks.machine import devices, gpus

GB = 10**9


class Driver:
    """Two GPUs and a driver for CUDA 12.8, as pynvml shows them; `trouble` maps a GPU's index to the error it answers with."""

    def __init__(self, monkeypatch, names=("NVIDIA H100", "NVIDIA H100"), cuda=12080, torch_cuda="12.8", **odd):
        self.trouble: dict[int, int] = odd.get("trouble", {})
        free, mode, mig = odd.get("free", 70 * GB), odd.get("mode", 0), odd.get("mig", 0)
        answers = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetCount": lambda: len(names),
            "nvmlDeviceGetHandleByIndex": self._handle,
            "nvmlDeviceGetName": lambda i: names[i],
            "nvmlDeviceGetUUID": lambda i: f"GPU-{i}abc",
            "nvmlDeviceGetComputeMode": lambda i: mode,
            "nvmlDeviceGetMemoryInfo": lambda i: SimpleNamespace(free=free, total=80 * GB),
            "nvmlDeviceGetCudaComputeCapability": lambda i: odd.get("capability", (9, 0)),
            "nvmlDeviceGetMigMode": lambda i: (mig, mig),
            "nvmlSystemGetCudaDriverVersion_v2": lambda: cuda,
        }
        for name, answer in answers.items():
            monkeypatch.setattr(pynvml, name, answer)
        monkeypatch.setattr(gpus.torch.version, "cuda", torch_cuda)
        monkeypatch.setattr(gpus, "built_for", lambda: odd.get("archs", []))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def _handle(self, index: int) -> int:
        if index in self.trouble:
            raise pynvml.NVMLError(self.trouble[index])
        return index


def no_driver(monkeypatch, here: bool, code: int = pynvml.NVML_ERROR_LIBRARY_NOT_FOUND) -> None:
    """NVML does not start; `here`: an NVIDIA GPU sits on the bus all the same."""

    def fails():
        raise pynvml.NVMLError(code)

    monkeypatch.setattr(pynvml, "nvmlInit", fails)
    monkeypatch.setattr(gpus, "_reads", lambda path, start: here)
    monkeypatch.setattr(gpus.Path, "glob", lambda self, pattern: iter([gpus.Path("vendor")]))


def test_all_gpus_when_there_are_two_or_more(monkeypatch):
    Driver(monkeypatch)
    found = devices.plan()
    assert (found.nranks, found.backend, found.devices) == (2, "nccl", ("cuda:0", "cuda:1"))
    assert str(found) == "2 ranks, nccl, 2 x NVIDIA H100" and not found.shared
    assert devices.plan(1).backend == "nccl"


def test_ranks_share_one_gpu_unless_they_are_timed(monkeypatch):
    Driver(monkeypatch, names=("NVIDIA H200",))
    assert str(devices.plan()) == "4 ranks, nccl, 1 x NVIDIA H200, shares a GPU: not timed"
    timed = devices.plan(timed=True)
    assert str(timed).startswith("4 ranks, gloo, CPU\n1 x NVIDIA H200 here, fewer than ranks: these are timed")
    assert devices.plan(1, timed=True).backend == "nccl"


@pytest.mark.parametrize(
    "names, asked, any_of, label",
    [
        ("A", "2", None, "2 ranks, nccl, 1 x A, shares a GPU: not timed"),
        ("AA", "1", None, "1 rank, nccl, 1 x A"),
        ("AAAA", "3", None, "3 ranks, nccl, 3 x A"),
        ("A" * 16, None, None, "8 ranks, nccl, 8 x A"),
        ("AAA", None, (2, 4, 8), "2 ranks, nccl, 2 x A\n3 GPUs, but what runs here is made for 2, 4 or 8 ranks."),
        ("AA", None, (4,), "4 ranks, nccl, 2 x A, shares a GPU: not timed\n2 GPUs, but .* for 4 ranks."),
        ("", "8", None, "8 ranks, gloo, CPU"),
        ("", "1", range(2, 9), "2 ranks, gloo, CPU\nNRANKS=1, but what runs here is made for 2 to 8 ranks."),
        ("", None, (2,), "2 ranks, gloo, CPU\n4 ranks by default, but what runs here is made for 2 ranks."),
    ],
)
def test_the_number_of_ranks(monkeypatch, names, asked, any_of, label):
    Driver(monkeypatch, names=tuple(names))
    if asked:
        monkeypatch.setenv("NRANKS", asked)
    assert re.fullmatch(label, str(devices.plan(any_of=any_of)))


@pytest.mark.parametrize("asked", ["none", "0", "65", "2.0", "-1"])
def test_a_number_of_ranks_in_the_environment_that_makes_no_sense(monkeypatch, asked):
    monkeypatch.setenv("NRANKS", asked)
    with pytest.raises(ValueError, match=rf"NRANKS in the environment .* 1\.\.64, got '{asked}'"):
        Ranks()


@pytest.mark.parametrize(
    "given, said",
    [
        ({"n": 2, "any_of": (2,)}, "give one"),
        ({"any_of": ()}, "names no number"),
        ({"any_of": (0, 2)}, "any_of lies in 1..64"),
    ],
)
def test_numbers_that_a_caller_can_do_with(given, said):
    with pytest.raises(ValueError, match=said):
        Ranks(**given)


def test_nccl_asked_for_by_name_shares_gpus_and_the_label_says_so(monkeypatch):
    Driver(monkeypatch, names=("NVIDIA H200",))
    found = devices.plan(2, "nccl")
    assert (found.devices, found.shared) == (("cuda:0", "cuda:0"), True)
    assert found.label == "2 ranks, nccl, 1 x NVIDIA H200, shares a GPU: not timed"
    Driver(monkeypatch)
    assert devices.plan(3, "nccl").devices == ("cuda:0", "cuda:1", "cuda:0")


@pytest.mark.parametrize(
    "odd, said",
    [
        ({"mode": pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS}, "NVIDIA H100 serves one process at a time"),
        ({"free": 2 * GB}, "2 ranks on one NVIDIA H100 want 2.4 GB of its memory .* 2.0 GB are free"),
    ],
)
def test_gpus_that_cannot_be_shared(monkeypatch, odd, said):
    Driver(monkeypatch, **odd)
    with pytest.raises(ValueError, match=said):
        Ranks(4, backend="nccl")
    assert not devices.plan(2, "nccl").shared
    found = devices.plan(4)
    assert found.backend == "gloo" and re.search(f"they cannot share: .*{said}", found.note)


def test_nccl_without_a_gpu(monkeypatch):
    no_driver(monkeypatch, here=False)
    with pytest.raises(ValueError, match="NCCL needs a GPU, and none is usable here"):
        Ranks(2, backend="nccl")


@pytest.mark.parametrize("visible, count", [("0", 1), ("", 0), ("-1", 0), ("1,0", 2), ("0,7,1", 1), ("GPU-1", 1)])
def test_hidden_gpus_do_not_count(monkeypatch, visible, count):
    Driver(monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert len(gpus.find_gpus().names) == count


@pytest.mark.parametrize(
    "torch_cuda, driver, said",
    [
        (None, 12080, "this torch is a CPU build"),
        ("13.0", 12080, "runs CUDA up to 12.8, this torch wants CUDA 13.0.*Update the driver"),
    ],
)
def test_a_torch_that_cannot_use_the_gpus_is_loud(monkeypatch, torch_cuda, driver, said):
    Driver(monkeypatch, cuda=driver, torch_cuda=torch_cuda)
    with pytest.warns(RuntimeWarning, match=said):
        found = devices.plan()
    assert found.backend == "gloo" and "run on the CPU" in str(found)


@pytest.mark.parametrize(
    "odd, said",
    [
        ({"mig": pynvml.NVML_DEVICE_MIG_ENABLE}, "GPU 0 cannot be used: NVIDIA H100 is split by MIG"),
        ({"mode": pynvml.NVML_COMPUTEMODE_PROHIBITED}, r"NVIDIA H100 is closed to computing; .*nvidia-smi -i 1 -c 0"),
        ({"free": GB // 2}, "NVIDIA H100 is full: 0.5 of 80.0 GB are free"),
        ({"archs": ["sm_75", "sm_80"]}, "compute capability 9.0, for which this torch has no code"),
        ({"trouble": {0: pynvml.NVML_ERROR_GPU_IS_LOST, 1: pynvml.NVML_ERROR_GPU_IS_LOST}}, "fallen off the bus"),
    ],
)
def test_a_gpu_that_cannot_be_used_is_loud(monkeypatch, odd, said):
    Driver(monkeypatch, **odd)
    with pytest.warns(RuntimeWarning, match=said):
        assert devices.plan().backend == "gloo"


def test_one_lost_gpu_leaves_the_others_and_is_said(monkeypatch):
    Driver(monkeypatch, names=("A", "B", "B"), trouble={0: pynvml.NVML_ERROR_GPU_IS_LOST})
    with pytest.warns(RuntimeWarning, match="GPU 0 cannot be used"):
        found = devices.plan()
    assert found.label == "2 ranks, nccl, 2 x B"
    assert found.visible == "GPU-1abc,GPU-2abc", "named by UUID, for CUDA would count the lost one"


@pytest.mark.parametrize(
    "archs, capability, runs",
    [
        (["sm_80"], (8, 6), True),
        (["sm_86"], (8, 0), False),
        (["sm_80"], (9, 0), False),
        (["compute_80"], (9, 0), True),
        (["sm_90a"], (9, 0), True),
        (["sm_90a"], (10, 0), False),
        ([], (7, 0), True),
    ],
)
def test_which_gpu_a_build_of_torch_runs_on(archs, capability, runs):
    assert gpus.runs_on(archs, capability) is runs


def test_a_gpu_without_a_driver_is_loud(monkeypatch):
    no_driver(monkeypatch, here=True)
    with pytest.warns(RuntimeWarning, match="its driver does not answer .* Install the NVIDIA driver"):
        assert devices.plan().backend == "gloo"
    no_driver(monkeypatch, here=True, code=pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)
    with pytest.warns(RuntimeWarning, match="updated while it ran: restart the machine"):
        devices.plan()


@pytest.mark.parametrize("there", [True, False])
def test_in_wsl_the_drivers_library_is_loaded_from_where_it_lies(monkeypatch, tmp_path, there):
    loaded, library = [], tmp_path / "libcuda.so"
    if there:
        library.touch()
    monkeypatch.setattr(gpus, "WSL", library)
    monkeypatch.setattr(gpus.ctypes, "CDLL", loaded.append)
    gpus._find_on_wsl()
    assert loaded == [str(library)] * there


def test_no_gpu_is_no_trouble(monkeypatch):
    no_driver(monkeypatch, here=False)
    assert gpus.find_gpus() == gpus.Gpus()


def test_an_error_of_cuda_says_what_helps():
    assert "nvidia-fabricmanager" in gpus.with_remedy("CUDA error: system not yet initialized")
    assert gpus.with_remedy("something else") == "something else"
