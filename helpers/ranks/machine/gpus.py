"""The GPUs that ranks could use, and, for those they cannot, the reason and the remedy. Chapters: setup, ranks.

Asked through NVML, the driver's own library, which does not start CUDA in the notebook. What NVML cannot see shows when a rank
starts CUDA: `with_remedy` says then what helps.
"""

from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pynvml
import torch

NBYTES_PER_RANK = 1_200_000_000  # free GPU memory that a rank wants: CUDA's context, NCCL's buffers, its first tensors
WSL = Path("/usr/lib/wsl/lib/libnvidia-ml.so.1")

_DRIVER = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "Install the NVIDIA driver, or start the container with its GPUs (docker run --gpus all).",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "Load the driver (modprobe nvidia); under Secure Boot it must be signed.",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "The driver was updated while it ran: restart the machine.",
    pynvml.NVML_ERROR_NO_PERMISSION: "Ask for access to /dev/nvidia*, or start the container with its GPUs.",
}
_DEVICE = {
    pynvml.NVML_ERROR_GPU_IS_LOST: "it has fallen off the bus; restart the machine, and if it happens again, have it checked",
    pynvml.NVML_ERROR_RESET_REQUIRED: "it needs a reset: nvidia-smi --gpu-reset, or a restart of the machine",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission to use it; ask for access to /dev/nvidia*, or give it to the container",
    pynvml.NVML_ERROR_INSUFFICIENT_POWER: "it gets too little power; check its power cables",
    pynvml.NVML_ERROR_IRQ_ISSUE: "the system does not pass on its interrupts; check the virtual machine's or the BIOS's settings",
}
# From CUDA's own error texts (cudaGetErrorString) to what helps.
_CUDA = {
    "out of memory": "Another process holds its memory; nvidia-smi shows which.",
    "busy or unavailable": "Another process has it to itself; end that, or allow sharing (nvidia-smi -c 0).",
    "system not yet initialized": "GPUs behind NVSwitch need their fabric manager (systemctl start nvidia-fabricmanager).",
    "unsupported display driver": "The driver was updated while it ran: restart the machine.",
    "driver version is insufficient": "Update the driver, or install torch for an older CUDA.",
    "no kernel image": "This torch has no code for this GPU; install another build (make lab TORCH=...).",
    "uncorrectable ECC": "Its memory is damaged until a reset (nvidia-smi --gpu-reset) or a restart of the machine.",
    "no CUDA-capable device": "Look at CUDA_VISIBLE_DEVICES, and at the permissions of /dev/nvidia*.",
    "invalid device ordinal": "CUDA sees fewer GPUs than the driver; look at CUDA_VISIBLE_DEVICES and at MIG (nvidia-smi -L).",
    "unknown error": "After a suspend, load its module again (modprobe -r nvidia_uvm; modprobe nvidia_uvm), or restart the machine.",
}


@dataclass(frozen=True)
class Gpu:
    """A GPU that ranks can use. free: bytes, None where the driver does not say; exclusive: for one process at a time."""

    name: str
    uuid: str = ""
    free: int | None = None
    exclusive: bool = False


@dataclass(frozen=True)
class Gpus:
    """Those that ranks can use, in the driver's order; and, when some cannot be used, which, why and what helps."""

    usable: tuple[Gpu, ...] = ()
    trouble: str = ""
    renumbered: bool = False  # CUDA, left alone, might number them differently

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(gpu.name for gpu in self.usable)


def find_gpus() -> Gpus:
    """Ask the driver. Never initialises CUDA."""
    _find_on_wsl()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Gpus(trouble=_no_driver(error))
    try:
        return _look()
    except pynvml.NVMLError as error:
        return Gpus(
            trouble=f"The NVIDIA driver does not answer ({error}), so ranks run on the CPU. Restart the machine."
        )
    finally:
        pynvml.nvmlShutdown()


def with_remedy(text: str) -> str:
    """An error of CUDA's, with what helps where that is known."""
    return next((f"{text.rstrip()}\n{remedy}" for sign, remedy in _CUDA.items() if sign in text), text)


def _look() -> Gpus:
    indices = _visible([_uuid(i) for i in range(pynvml.nvmlDeviceGetCount())])
    if not indices:
        return Gpus(trouble=_sliced())
    if trouble := _no_cuda(pynvml.nvmlSystemGetCudaDriverVersion_v2()):
        return Gpus(trouble=trouble)
    seen = {i: _examine(i) for i in indices}
    usable = tuple(gpu for gpu in seen.values() if isinstance(gpu, Gpu))
    reasons = [f"GPU {i} cannot be used: {why}." for i, why in seen.items() if isinstance(why, str)]
    return Gpus(usable, " ".join(reasons), bool(reasons) or len({gpu.name for gpu in usable}) > 1)


def _uuid(index: int) -> str:
    try:
        return pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(index))
    except pynvml.NVMLError:
        return ""


def _visible(uuids: list[str]) -> list[int]:
    """CUDA_VISIBLE_DEVICES: indices or UUID prefixes; the first that is neither hides itself and all after it."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is None:
        return list(range(len(uuids)))
    found = []
    for item in filter(None, (part.strip() for part in asked.split(","))):
        matches = [i for i, uuid in enumerate(uuids) if item == str(i) or (uuid and uuid.startswith(item))]
        if not matches:
            break
        found.append(matches[0])
    return found


def _examine(index: int) -> Gpu | str:
    """The GPU, or why ranks cannot use it and what helps."""
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        name, uuid = pynvml.nvmlDeviceGetName(handle), pynvml.nvmlDeviceGetUUID(handle)
        mode = _ask(pynvml.nvmlDeviceGetComputeMode, handle)
        memory = _ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
        capability = _ask(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
        sliced = _ask(pynvml.nvmlDeviceGetMigMode, handle)
    except pynvml.NVMLError as error:
        return _DEVICE.get(error.value, f"the driver says {error}; restart the machine")
    if sliced and sliced[0] == pynvml.NVML_DEVICE_MIG_ENABLE:
        return f"{name} is split by MIG, and NCCL wants it whole; an administrator can undo that (nvidia-smi -i {index} -mig 0)"
    if mode == pynvml.NVML_COMPUTEMODE_PROHIBITED:
        return f"{name} is closed to computing; an administrator can open it (nvidia-smi -i {index} -c 0)"
    if capability and not runs_on(built_for(), capability):
        return _no_code(name, capability)
    if memory and memory.free < NBYTES_PER_RANK:
        free = f"{memory.free / 1e9:.1f} of {memory.total / 1e9:.1f} GB are free"
        return f"{name} is full: {free}, a rank wants {NBYTES_PER_RANK / 1e9:.1f}; nvidia-smi shows who holds the rest"
    return Gpu(name, uuid, memory and memory.free, mode in _EXCLUSIVE)


_EXCLUSIVE = (pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS, pynvml.NVML_COMPUTEMODE_EXCLUSIVE_THREAD)


def _ask(query, handle: object) -> object:
    """None where this GPU or driver does not know the question; raises NVMLError when the GPU itself is the trouble."""
    try:
        return query(handle)
    except pynvml.NVMLError as error:
        if error.value in _DEVICE and error.value != pynvml.NVML_ERROR_NO_PERMISSION:
            raise
        return None


def runs_on(archs: list[str], capability: tuple[int, int]) -> bool:
    """Does a torch built for these ("sm_90", "sm_100a", "compute_120") have code for a GPU of that compute capability?

    Machine code runs on the same major version with the same or a later minor one; PTX (compute_) on everything later; an "a" on
    exactly its own. True when nothing is known.
    """
    return not archs or any(_covers(arch, capability) for arch in archs)


def built_for() -> list[str]:
    """What torch.cuda.get_arch_list says, which before torch 2.13 asks CUDA first whether it is there, and so starts its driver here."""
    flags = getattr(torch._C, "_cuda_getArchFlags", lambda: None)()
    return flags.split() if flags else []


def _covers(arch: str, capability: tuple[int, int]) -> bool:
    found = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", arch)
    if not found:
        return False
    kind, built, exact = found[1], (int(found[2]), int(found[3])), found[4] == "a"
    if exact:
        return built == capability
    return built <= capability and (kind == "compute" or built[0] == capability[0])


def _no_code(name: str, capability: tuple[int, int]) -> str:
    archs = ", ".join(built_for())
    return (
        f"{name} has compute capability {capability[0]}.{capability[1]}, for which this torch has no code (only {archs});"
        " install another build of torch (make lab TORCH=cu126 has the oldest GPUs)"
    )


def _no_cuda(driver: int) -> str:
    """driver: the newest CUDA it can run, as 1000 * major + 10 * minor. "" when torch can use it."""
    if torch.version.cuda is None:
        return (
            "There are NVIDIA GPUs here, but this torch is a CPU build, so ranks run on the CPU."
            " Install a CUDA build of torch (`make lab` picks one) to use them."
        )
    if int(torch.version.cuda.split(".")[0]) > driver // 1000:
        return (
            f"The NVIDIA driver here runs CUDA up to {driver // 1000}.{driver % 1000 // 10}, this torch wants CUDA"
            f" {torch.version.cuda}, so ranks run on the CPU. Update the driver, or install torch for CUDA {driver // 1000}."
        )
    return ""


def _sliced() -> str:
    """CUDA_VISIBLE_DEVICES may name a slice of a GPU, which the driver does not list as one."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    if not asked.startswith("MIG-"):
        return ""
    return (
        "CUDA_VISIBLE_DEVICES names a slice of a GPU (MIG), and NCCL wants whole GPUs, so ranks run on the CPU."
        " Name whole GPUs, or unset it."
    )


def _no_driver(error: pynvml.NVMLError) -> str:
    vendors = Path("/sys/bus/pci/devices").glob("*/vendor")
    here = any(_reads(vendor, "0x10de") and _reads(vendor.with_name("class"), "0x03") for vendor in vendors)
    if not here and not WSL.exists():
        return ""
    remedy = _DRIVER.get(error.value, "Restart the machine, or install the NVIDIA driver again.")
    return f"There is an NVIDIA GPU here, but its driver does not answer ({error}), so ranks run on the CPU. {remedy}"


def _find_on_wsl() -> None:
    """In WSL the driver's library lies where the loader may not look; once loaded, it is found by its name."""
    if WSL.exists():
        try:
            ctypes.CDLL(str(WSL))
        except OSError:
            return


def _reads(path: Path, start: str) -> bool:
    try:
        return path.read_text().startswith(start)
    except OSError:
        return False
