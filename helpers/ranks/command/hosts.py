"""`bench --hosts a,b`: the same command under torchrun on several machines, over ssh. Chapter: benchmarking.

The folder of this checkout and this Python have to be there under the same paths, as on a cluster's shared file system.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

SHIPPED = ("NCCL_", "GLOO_", "TORCH_NCCL_", "CUDA_VISIBLE_DEVICES")  # ssh takes nothing of the environment along
SSH = ("ssh", "-o", "BatchMode=yes")  # no question for a password, which nobody would see
# A host whose ssh is ended sees the end of its stdin, and ends its ranks: a shell's background job has no stdin, so 3 stands for it.
WATCHED = (
    "exec 3<&0; {{ {command}; }} & job=$!; {{ cat <&3; kill $job; }} >/dev/null 2>&1 & watch=$!;"
    " wait $job; code=$?; kill $watch 2>/dev/null; exit $code"
)
STARTS = " && env "
PATIENCE, LOOKS = 40.0, 0.1  # seconds: torchrun gives its ranks 30 to end
_HOST = re.compile(r"(?:[\w.-]+@)?[\w.-]+")


def hosts(text: str) -> list[str]:
    """ "a,b" -> ["a", "b"]. ValueError for a name that is none, for one given twice, and for fewer than one."""
    found = [one.strip() for one in text.split(",")]
    for one in found:
        if not _HOST.fullmatch(one) or one.startswith("-"):
            raise ValueError(f"hosts look like node1,node2 or user@10.0.0.1, got {one!r} in {text!r}")
    if len(set(found)) < len(found):
        raise ValueError(f"each host once, got {text!r}")
    return found


def lines(
    names: Sequence[str],
    per_host: int,
    port: int,
    arguments: Sequence[str],
    env: Mapping[str, str] = os.environ,
) -> list[str]:
    """What each host runs, in a shell, in order of their ranks. They meet at the first host's name."""
    address = names[0].rpartition("@")[2]
    kept = ["OMP_NUM_THREADS=1"]  # else torchrun says that it sets it
    kept += [f"{name}={shlex.quote(env[name])}" for name in sorted(env) if name.startswith(SHIPPED)]
    found = []
    for node in range(len(names)):
        words = [
            *(sys.executable, "-m", "torch.distributed.run"),
            *("--nnodes", str(len(names)), "--node-rank", str(node), "--nproc-per-node", str(per_host)),
            *("--master-addr", address, "--master-port", str(port)),
            *("-m", "helpers.ranks", *arguments),
        ]
        command = " ".join([*kept, *map(shlex.quote, words)])
        found.append(f"cd {shlex.quote(str(Path.cwd()))}{STARTS}{command}")
    return found


def arguments(options: argparse.Namespace) -> list[str]:
    """The bench that every host runs: what was asked for, without the hosts."""
    given = [
        ("-b", options.begin),
        ("-e", options.end),
        ("-f", options.factor),
        ("-w", options.warmup),
        ("-r", options.root),
    ]
    given += [("-i", options.iters), ("-a", options.algorithm), ("--timeout", options.timeout)]
    words = [word for name, value in given if value is not None for word in (name, str(value))]
    return ["bench", *options.collectives, *words, *(["--json"] if options.json else [])]


def run(names: Sequence[str], commands: Sequence[str]) -> int:
    """Over ssh, all at once; what rank 0 prints is the table. When one host fails the others are ended. 1 then, else 0."""
    started = [
        subprocess.Popen([*SSH, name, _watched(command)], stdin=subprocess.PIPE)
        for name, command in zip(names, commands, strict=True)
    ]
    try:
        return _first_failure(names, started)
    finally:
        for process in started:
            process.stdin.close()  # type: ignore[union-attr]
        for process in started:
            _end(process)


def _watched(command: str) -> str:
    """exec: so that the job is torchrun itself, and not a shell around it. sh: whatever shell the host logs in with."""
    return f"sh -c {shlex.quote(WATCHED.format(command=command.replace(STARTS, ' && exec env ', 1)))}"


def _end(process: subprocess.Popen) -> None:
    """Its host has been told; a connection that does not end is ended here."""
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _first_failure(names: Sequence[str], started: list[subprocess.Popen]) -> int:
    while True:
        codes = [process.poll() for process in started]
        for name, code in zip(names, codes, strict=True):
            if code:
                print(f"helpers.ranks: {name} has ended with code {code}", file=sys.stderr)
                return 1
        if None not in codes:
            return 0
        time.sleep(LOOKS)
