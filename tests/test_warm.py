"""Programs in forks of a warm process end as torchrun's and python's do, and see nothing of each other."""

import os
import select
import subprocess
from pathlib import Path

import pytest
import warm
import warm_kernels
from lanes import some
from nbval.kernel import RunningKernel


@pytest.fixture
def program(tmp_path):
    """program(source) -> its path."""

    def write(source: str) -> str:
        path = tmp_path / "a lab.py"
        path.write_text(source)
        return str(path)

    return write


def test_a_program_has_its_arguments_its_output_and_its_exit_status(program):
    said = "import atexit, sys\natexit.register(print, 'last')\nprint(__name__, sys.argv[1:])\nsys.exit('too bad')"
    done = warm.run(program(said), "-n", "3")
    assert (done.returncode, done.stdout, done.stderr) == (1, "__main__ ['-n', '3']\nlast\n", "too bad\n")
    assert warm.run(program("import sys; sys.exit(7)")).returncode == 7
    raised = warm.run(program("1 / 0"))
    assert raised.returncode == 1 and raised.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_every_rank_is_told_its_place_and_a_program_that_is_none_is_not(program):
    shown = "import os\nprint(*(os.environ.get(n) for n in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'SEEN')))\nos.environ['SEEN'] = 'x'"
    done = warm.run(program(shown), nranks=3)
    assert sorted(done.stdout.splitlines()) == [f"{rank} {rank} 3 None" for rank in range(3)]
    assert warm.run(program(shown)).stdout == "None None None None\n", "nor does one program see what another has done"


@pytest.mark.parametrize(
    "fault", some(["os._exit(3)", "1 / 0", "os.kill(os.getpid(), 9)"], ["os._exit(3)"], "other deaths of a warm rank")
)
def test_the_first_rank_that_fails_ends_the_others(program, fault):
    source = f"import os, time\nif os.environ['RANK'] == '1': {fault}\ntime.sleep(600)\nprint('never')"
    done = warm.run(program(source), nranks=3)
    assert done.returncode == 1 and done.stdout == ""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no process can be watched here")
def test_a_kernel_in_a_fork_is_interrupted_and_ends_as_any_other(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEN", "by the kernel")
    with warm_kernels.forked():
        kernel = RunningKernel("python3", cwd=str(tmp_path))
    try:
        assert said(kernel, "import os; print(os.getcwd(), os.environ['SEEN'])") == f"{tmp_path} by the kernel\n"
        assert said(kernel, "import sys; print('torch' in sys.modules, 'helpers' in sys.modules)") == "True False\n"
        sleeps = kernel.execute_cell_input("import time; print('awake', flush=True); time.sleep(600)")
        assert told(kernel, sleeps, "stream")["text"] == "awake\n"
        kernel.interrupt()
        assert told(kernel, sleeps, "error")["ename"] == "KeyboardInterrupt"
        ends = kernel.km.provisioner.process
        with pytest.raises(subprocess.TimeoutExpired):
            ends.wait(0)
    finally:
        kernel.stop()
    assert ends.poll() == 0 == ends.wait(0)


def said(kernel, code: str) -> str:
    """What the cell prints."""
    return told(kernel, kernel.execute_cell_input(code), "stream")["text"]


def told(kernel, cell: str, kind: str) -> dict:
    """The cell's next message of that kind."""
    while True:
        message = kernel.get_message("iopub", timeout=20)
        if (message["msg_type"], message["parent_header"].get("msg_id")) == (kind, cell):
            return message["content"]


SERVERS = """
from multiprocessing import forkserver, get_context
import os, time
pid = lambda: forkserver._forkserver._forkserver_pid
ready = get_context("forkserver")
for server in range(2):
    job = ready.Process(target=os._exit, args=(7,))
    job.start()
    job.join()
    command = open(f"/proc/{pid()}/cmdline").read()
    print(job.exitcode, "warm_server" in command, os.getpgid(pid()) == os.getpid(), end="; ", flush=True)
    if server == 0:
        forkserver._forkserver._stop()
print(pid())
"""


def ended(watched: list[int], seconds: float) -> list[int]:
    """Which of these processes' files say so, once one does. select() knows the first 1,024 files alone."""
    looks = select.poll()
    for fd in watched:
        looks.register(fd, select.POLLIN)
    return [fd for fd, _ in looks.poll(1000 * seconds)]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no process can be watched here")
@pytest.mark.parametrize("asked", some([True, False], [True], "a spare that nobody asked"))
def test_a_kernel_has_one_fork_server_ready_and_it_ends_with_the_kernel(tmp_path, asked):
    """In the kernel's group, so that it is interrupted and killed as any other; the second is a new python as a reader's."""
    with warm_kernels.forked():
        kernel = RunningKernel("python3", cwd=str(tmp_path))
    try:
        mine = said(kernel, "import os; print(os.getpid())")
        ready = children(int(mine))
        assert len(ready) == 1
        if asked:
            *each, last = printed(kernel, SERVERS).split("; ")
            assert each == ["7 True True", "7 False True"]
            ready = [int(last)]
        watched = [os.pidfd_open(pid) for pid in ready]
        kernel.interrupt()
        assert said(kernel, "print('still here')") == "still here\n"
        assert not ended(watched, 0), "no interrupt reaches it"
    finally:
        kernel.stop()
    assert ended(watched, 10) == watched
    for fd in watched:
        os.close(fd)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def printed(kernel, code: str) -> str:
    """All that the cell prints until it has ended."""
    cell, text = kernel.execute_cell_input(code), ""
    while True:
        message = kernel.get_message("iopub", timeout=20)
        if message["parent_header"].get("msg_id") != cell:
            continue
        assert message["msg_type"] != "error", message["content"]
        text += message["content"].get("text", "")
        if message["content"].get("execution_state") == "idle":
            return text
