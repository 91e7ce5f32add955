"""The NVIDIA driver's version, asked without torch and without starting CUDA."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

WSL = "/usr/lib/wsl/lib/"


def version() -> str | None:
    """Such as "570.124.06"; None where no NVIDIA driver answers (also in a container that was given no GPU)."""
    return _nvml() or _smi()


def _nvml() -> str | None:
    """From the driver's own library, in milliseconds."""
    for name in ("libnvidia-ml.so.1", WSL + "libnvidia-ml.so.1"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        if library.nvmlInit_v2() != 0:
            continue
        text = ctypes.create_string_buffer(80)
        status = library.nvmlSystemGetDriverVersion(text, ctypes.c_uint(len(text)))
        library.nvmlShutdown()
        if status == 0:
            return text.value.decode()
    return None


def _smi() -> str | None:
    path = shutil.which("nvidia-smi") or shutil.which(WSL + "nvidia-smi")
    if path is None:
        return None
    command = [path, "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[0].strip() or None if done.returncode == 0 else None
