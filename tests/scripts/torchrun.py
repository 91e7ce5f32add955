"""Starting a script of the course for a test, as a reader would: torchrun on this machine's CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALONE = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "CUDA_VISIBLE_DEVICES": ""}


def torchrun(script: str | Path, nranks: int, *options: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """`torchrun --nproc-per-node nranks scripts/SCRIPT options`; script: a name in scripts/, or a path."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(nranks)]
    return subprocess.run(
        [*command, str(ROOT / "scripts" / script), *options],
        cwd=ROOT,
        env={**os.environ, **ALONE},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
