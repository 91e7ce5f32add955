"""What CI cannot check: ranks on this machine's GPUs, in under ten minutes. Needs only what floor 3 of `helpers` needs.

    python -m tools.gpu_check [--backend nccl|gloo] [--ranks N] [--out recorded] [--only WORDS]

This entry needs nothing but Python: on a bare machine it says what is missing, all at once, and what to type. The rest is tools.gpu.desk.
"""

from __future__ import annotations

import signal
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from tools import pythons

NEEDED = {
    "torch": "torch",
    "numpy": "numpy",
    "cloudpickle": "cloudpickle",
    "psutil": "psutil",
    "pynvml": "nvidia-ml-py",
}


def missing(needed: dict[str, str] = NEEDED) -> list[str]:
    """What has to be installed, by the name under which it is installed."""
    return [package for module, package in needed.items() if find_spec(module) is None]


def unfit(what: str, needed: dict[str, str] = NEEDED) -> str:
    """Why this Python cannot run it, in one line with what to type; "" where it can.

    torch's build is make's choice, and into a distribution's own Python pip installs nothing (PEP 668).
    """
    if sys.version_info[:2] < pythons.SUPPORTED[0]:
        return f"{what} needs Python 3.11, 3.12 or 3.13, and this is {sys.version.split()[0]}. Type: make kernel"
    if not (lacking := missing(needed)):
        return ""
    managed = sys.prefix == sys.base_prefix and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists()
    pip = "make kernel TORCH=keep" if managed else f"{sys.executable} -m pip install {' '.join(lacking)}"
    return f"{what} needs {', '.join(lacking)}. Type: {'make kernel' if 'torch' in lacking else pip}"


def main(argv: list[str] | None = None) -> int:
    """0: all passed or skipped; 1: a check failed or was not run; 2: nothing could be checked."""
    if why := unfit("gpu-check"):
        print(why, file=sys.stderr)
        return 2
    from tools.gpu import desk  # it imports all of them

    # A job in the background ignores Ctrl-C, and so would everything that it starts: one check interrupts a process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return desk.main(argv)


if __name__ == "__main__":
    sys.exit(main())
