"""What the machine has. Told by the environment, so that every process of a test sees the same."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

GPUS, FOLDER, ROOM = "FAKE_CUDA_GPUS", "FAKE_CUDA_FOLDER", "FAKE_CUDA_MEMORY"
NAME = "NVIDIA Fake"
MEMORY = 64 << 20  # bytes, as torch is told, unless ROOM says another number: the checks take their small sizes
FREE = 2_900_000_000  # bytes, as the driver tells: two ranks fit
L2 = 1 << 20
CLOCK = 1_500_000_000  # cycles a second
CAPABILITY = (9, 0)
CUDA, DRIVER, NCCL = "12.8", 12080, (2, 28, 9)


def environment(gpus: int, folder: Path, **more: str) -> dict[str, str]:
    """The environment of a process that has so many GPUs. folder: an empty one, where its processes leave word of each other."""
    here = Path(__file__).resolve().parent
    kept = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
    path = os.pathsep.join([str(here / "hook"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return kept | {"PYTHONPATH": path, GPUS: str(gpus), FOLDER: str(folder)} | more


def count() -> int:
    """GPUs in the machine, whoever may see them."""
    return int(os.environ[GPUS])


def memory() -> int:
    """Bytes of each GPU, as torch is told."""
    return int(os.environ.get(ROOM, MEMORY))


def uuid(index: int) -> str:
    return f"GPU-fake-{index}"


def visible() -> list[int]:
    """Those that CUDA counts in this process, as CUDA_VISIBLE_DEVICES has them: the first that is unknown ends the list."""
    return list(_visible(os.environ.get("CUDA_VISIBLE_DEVICES"), count()))


@cache
def _visible(asked: str | None, count: int) -> tuple[int, ...]:
    if asked is None:
        return tuple(range(count))
    known = {name: i for i in range(count) for name in (str(i), uuid(i))}
    found = []
    for item in asked.split(","):
        if item.strip() not in known:
            break
        found.append(known[item.strip()])
    return tuple(found)


def properties(device: int) -> SimpleNamespace:
    """What torch.cuda.get_device_properties hands on. No clock_rate: CUDA 13 has none."""
    if not 0 <= device < len(visible()):
        raise RuntimeError("CUDA error: invalid device ordinal")
    major, minor = CAPABILITY
    return SimpleNamespace(
        name=NAME, total_memory=memory(), L2_cache_size=L2, multi_processor_count=4, major=major, minor=minor
    )


def _folder() -> Path:
    return Path(os.environ.get(FOLDER) or tempfile.gettempdir())


def hold(device: int) -> None:
    """This process has a context on the GPU now, and NVML lists it."""
    (_folder() / f"{visible()[device]}-{os.getpid()}").touch()


def holders(index: int) -> list[int]:
    """Living processes that have one."""
    pids = [int(path.name.partition("-")[2]) for path in _folder().glob(f"{index}-*")]
    return [pid for pid in pids if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
