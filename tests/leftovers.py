"""Which processes a test session left running, whoever their parent is by now."""

import os
import time
from importlib.util import find_spec

SESSION = "BYTES_IN_MOTION_TEST_SESSION"  # every process that a test starts inherits it
GRACE = 5.0  # seconds in which what was told to stop must be gone
BECOMING = 0.2  # seconds in which a process that calls exec is another program
# multiprocessing keeps these two beside its parent on purpose, and they end with it. What they start is not excused.
KEPT = ("multiprocessing.forkserver", "multiprocessing.resource_tracker")


def leftovers(session: str) -> list[str]:
    """Processes started in this test session that still run, whoever their parent is by now: "pid: command".

    Without psutil (tests/pythons) nothing here starts a process, and the answer is empty.
    """
    if find_spec("psutil") is None:
        return []
    import psutil

    ours = [process for process in started_in(session) if process.pid != os.getpid() and not _kept(process)]
    _, alive = psutil.wait_procs(ours, timeout=GRACE)
    return [f"{process.pid}: {' '.join(process.cmdline())[:120]}" for process in alive]


def started_in(session: str) -> list:
    """The processes of a session, whoever started them.

    One that is just becoming another program shows no environment, and is asked again when it has become it.
    """
    import psutil

    told = {process: environment(process) for process in psutil.process_iter()}
    if blank := [process for process, its in told.items() if its == {}]:
        time.sleep(BECOMING)
        told |= {process: environment(process) for process in blank}
    return [process for process, its in told.items() if its and its.get(SESSION) == session]


def environment(process) -> dict[str, str] | None:
    """Of a process; None for one that is gone or another user's."""
    import psutil

    try:
        return process.environ()
    except (psutil.Error, OSError):
        return None


def _kept(process) -> bool:
    import psutil

    try:
        return process.ppid() == os.getpid() and any(name in " ".join(process.cmdline()) for name in KEPT)
    except psutil.Error:
        return True
