"""Starting a script of the course for a test, as a reader would: under torchrun, or by python, on this machine's CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import warm

ROOT = Path(__file__).parents[2]
ALONE = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "CUDA_VISIBLE_DEVICES": ""}
STRICT = {"PYTHONWARNINGS": "error::FutureWarning,error::DeprecationWarning"}  # a script makes no call that is to go


def torchrun(
    script: str | Path, nranks: int, *options: str, loaded: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """`torchrun --nproc-per-node nranks scripts/SCRIPT options`; script: a name in scripts/, or a path. loaded: once for all ranks."""
    return warm.run(str(ROOT / "scripts" / script), *options, nranks=nranks, loaded=loaded, **ALONE, **STRICT)


def python(script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """`python scripts/SCRIPT options`."""
    return warm.run(str(ROOT / "scripts" / script), *options)


def real_torchrun(script: str, nranks: int, *options: str) -> subprocess.CompletedProcess[str]:
    """The same as `torchrun`, by torchrun itself: how a job ends, and what is said then, is torchrun's."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(nranks)]
    return subprocess.run(
        [*command, str(ROOT / "scripts" / script), *options],
        cwd=ROOT,
        env={**os.environ, **ALONE, **STRICT},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def sound(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """The same, which has to have ended well."""
    assert done.returncode == 0, done.stderr[-2000:]
    return done
