"""A Jupyter kernel to time cells in, of any Python; whatever it has started is ended by its id."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from pathlib import Path
from queue import Empty

import psutil
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from helpers.ranks.machine.loopback import loopback

MARK = "BYTES_IN_MOTION_BENCHMARK"  # every process below a kernel inherits it
ROOT = Path(__file__).resolve().parent.parent


class CellFailed(Exception):
    """A cell that raised, printed that it failed, or did not end in time; the text is what it said last."""


class Notebook:
    """A kernel of `python`, started in the repository. whole: the environment that makes it `jupyter-distributed`'s.

    scratch: a folder for whatever the kernel keeps, so that the reader's own settings are neither used nor changed.
    """

    def __init__(self, python: str, scratch: Path, whole: dict[str, str] | None = None):
        self._mark = uuid.uuid4().hex
        self.python = python
        module = "ipykernel_launcher" if whole is None else "jupyter_distributed.kernel"
        self._manager = KernelManager()
        self._manager._kernel_spec = KernelSpec(
            argv=[python, "-m", module, "-f", "{connection_file}"], display_name="", language="python"
        )
        self._env = os.environ | self._private(scratch) | (whole or {})
        self._client = None
        self.start()

    def _private(self, scratch: Path) -> dict[str, str]:
        folders = {name: str(scratch) for name in ("TMPDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR")}
        path = os.pathsep.join([str(Path(self.python).parent), os.environ.get("PATH", os.defpath)])
        return {**folders, MARK: self._mark, "PATH": path, "GLOO_SOCKET_IFNAME": loopback(), "PYTHONWARNINGS": "ignore"}

    def start(self) -> None:
        """Start it, and return once it answers."""
        self._manager.start_kernel(env=self._env, cwd=str(ROOT), stderr=subprocess.DEVNULL)
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)

    def restart(self) -> None:
        """The *Restart* button, pressed when nothing runs."""
        self._manager.restart_kernel()
        self._client.wait_for_ready(timeout=60)

    def run(self, code: str, limit: float = 60.0, failed: tuple[str, ...] = ()) -> tuple[float, str]:
        """Seconds from sending a cell until it has ended, and what it printed. CellFailed: it did not do as it should."""
        start = time.perf_counter()
        message, text, error = self._client.execute(code, allow_stdin=False), "", ""
        while True:
            left = limit - (time.perf_counter() - start)
            try:
                got = self._client.get_iopub_msg(timeout=max(0.001, left))
            except Empty:
                raise CellFailed(f"no answer within {limit:.0f} s") from None
            if got["parent_header"].get("msg_id") != message:
                continue
            content = got["content"]
            text += _printed(content)
            error = f"{content['ename']}: {content['evalue']}" if got["msg_type"] == "error" else error
            if content.get("execution_state") == "idle":
                break
        took = time.perf_counter() - start
        if error or any(word in text for word in failed):
            raise CellFailed((error or text).strip().splitlines()[-1])
        return took, text

    def close(self) -> None:
        """End the kernel and everything that it has started, whoever its parent is by now."""
        if self._client is not None:
            self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        left = [process for process in psutil.process_iter() if self._is_ours(process)]
        for process in left:
            process.kill()
        psutil.wait_procs(left, timeout=10)

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(MARK) == self._mark
        except (psutil.Error, OSError):
            return False


def _printed(content: dict) -> str:
    """What a message shows: a stream, or rich output's plain text."""
    return content.get("text", "") or content.get("data", {}).get("text/plain", "")
