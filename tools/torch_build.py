"""Which build of torch this machine gets: a pure function, so that every case is tested without the machine."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.torch_versions import NEWEST, OLDEST  # for TORCH=keep: what has been tried

VERSION = "2.13.0"

# The oldest driver of each CUDA major version: docs.nvidia.com/deploy/cuda-compatibility, "Minor Version Compatibility".
DRIVER_CUDA_13, DRIVER_CUDA_12 = 580, 525

# The CUDA builds of torch 2.13, from torch/cuda/__init__.py of that release (PYTORCH_RELEASES_CODE_CC names 12.6, 12.9
# and 13.0; 12.6 alone still holds code for Volta and older). The default wheel is the one for 13.0.
CUDA_12, CUDA_13, OLD_GPUS = "cu129", "cu130", "cu126"
CHOICES = ("auto", "keep", "cpu", OLD_GPUS, CUDA_12, CUDA_13)


class NoBuild(Exception):
    """No build fits; the message is one line with the reason and the remedy."""


@dataclass(frozen=True)
class Plan:
    """What to ask pip for. `tags`: "" is where pip looks anyway, a tag is a folder of torch's own wheel index."""

    requirement: str  # "" when nothing is installed
    tags: tuple[str, ...]
    why: str
    room: int = (
        8  # GB that an install takes while it runs, downloads with it: counted with CUDA, with the CPU build, with none
    )
    note: str = ""  # what the reader should know of it


def plan(system: str, machine: str, driver: str | None, installed: str | None, choice: str = "auto") -> Plan:
    """The build for this machine.

    `system`, `machine`: as `platform` names them ("Linux", "x86_64"). `driver`: the NVIDIA driver's version, None
    without one. `installed`: the version of a torch outside our .venv. `choice`: one of CHOICES (make's TORCH=).
    Raises NoBuild.
    """
    if choice not in CHOICES:
        raise NoBuild(f"TORCH={choice} is not known; expected one of {', '.join(CHOICES)}.")
    if choice == "keep":
        return _keep(installed)
    if system == "Darwin":
        return _mac(machine, choice)
    if system != "Linux":
        raise NoBuild(f"{system} is not supported; on Windows use WSL, which is a Linux.")
    return _linux(driver, choice)


def _keep(installed: str | None) -> Plan:
    if installed is None:
        raise NoBuild(
            "TORCH=keep, but no Python on PATH has torch; name one that has with PYTHON=/path/to/python, or drop TORCH."
        )
    if _numbers(installed) < OLDEST:
        raise NoBuild(
            f"TORCH=keep, but the torch that is here is {installed}; the course needs {_told(OLDEST)} or newer. "
            "Drop TORCH, and make installs its own."
        )
    newer = (
        f"torch {installed} is newer than {_told(NEWEST)}, the last that has been tried: names that the ranks wrap may be gone, so that "
        "a hang is told without a line, and predictions of memory may miss what FSDP2 keeps there."
    )
    note = newer if _numbers(installed) > NEWEST else ""
    return Plan("", (), f"torch {installed}, the one already installed", 1, note)


def _mac(machine: str, choice: str) -> Plan:
    if machine != "arm64":
        raise NoBuild(
            f"torch {VERSION} has no build for a Mac with {machine}; use a Mac with Apple silicon, or a Linux."
        )
    if choice not in ("auto", "cpu"):
        raise NoBuild(f"TORCH={choice}: CUDA does not run on a Mac; use TORCH=cpu, or leave TORCH out.")
    return Plan(f"torch==={VERSION}", ("",), f"torch {VERSION} for macOS", 2)


def _linux(driver: str | None, choice: str) -> Plan:
    if choice == "cpu" or (choice == "auto" and driver is None):
        why = "no NVIDIA driver here" if driver is None else "asked for by TORCH=cpu"
        return Plan(f"torch=={VERSION}+cpu", ("", "cpu"), f"torch {VERSION}, CPU build ({why})", 2)
    if choice == CUDA_13 or (choice == "auto" and _numbers(driver)[0] >= DRIVER_CUDA_13):
        # === matches the bare version only, so a CPU wheel that pip also sees cannot take its place.
        return Plan(f"torch==={VERSION}", ("",), f"torch {VERSION}, CUDA 13.0 build (driver {driver})")
    if choice == "auto" and _numbers(driver)[0] < DRIVER_CUDA_12:
        raise NoBuild(
            f"The NVIDIA driver is {driver}; torch {VERSION} needs {DRIVER_CUDA_12} or newer. "
            "Update the driver, or use the CPU only with TORCH=cpu."
        )
    build = CUDA_12 if choice == "auto" else choice
    return Plan(f"torch=={VERSION}+{build}", (build,), f"torch {VERSION}, {build} build (driver {driver})")


def _numbers(version: str | None) -> tuple[int, int]:
    """The first two numbers of a version: (570, 124) of "570.124.06", (2, 12) of "2.12.1+cu126"."""
    parts = (version or "0").split("+")[0].split(".")
    digits = ["".join(c for c in part if c.isdigit()) or "0" for part in [*parts, "0"]]
    return int(digits[0]), int(digits[1])


def _told(numbers: tuple[int, int]) -> str:
    return ".".join(map(str, numbers))
