"""What a process has handed to the operating system, counted by that system. Chapter: who-moves."""

from __future__ import annotations

import psutil


def kernel_bytes() -> int | None:
    """Bytes that this process has written so far, to files and sockets alike; None where the system does not count them (macOS).

    Linux: wchar of /proc/self/io. What goes through memory that processes share is not in it: no call of the system moves it.
    """
    process = psutil.Process()
    return getattr(process.io_counters(), "write_chars", None) if hasattr(process, "io_counters") else None
