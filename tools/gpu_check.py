"""What CI cannot check: ranks on this machine's GPUs, in under ten minutes. Needs only what floor 3 of `helpers` needs.

    python -m tools.gpu_check [--backend nccl|gloo] [--ranks N] [--out recorded] [--only WORDS]

This entry needs nothing but Python: on a bare machine it names every package that is missing, all at once. The rest is tools.gpu.desk.
"""

from __future__ import annotations

import signal
import sys
from importlib.util import find_spec

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


def wanted(what: str, lacking: list[str]) -> str:
    """What is missing, in one line with its remedy."""
    return f"{what} needs {', '.join(lacking)}: {sys.executable} -m pip install {' '.join(lacking)}"


def main(argv: list[str] | None = None) -> int:
    """0: all passed or skipped; 1: a check failed or was not run; 2: nothing could be checked."""
    if lacking := missing():
        print(wanted("gpu-check", lacking), file=sys.stderr)
        return 2
    from tools.gpu import desk  # it imports all of them

    # A job in the background ignores Ctrl-C, and so would everything that it starts: one check interrupts a process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return desk.main(argv)


if __name__ == "__main__":
    sys.exit(main())
