"""More than one pool, more than one thread, forks, vanished folders: nothing is left, nobody is cut off, errors are clear."""

from __future__ import annotations

import pytest
from kernels import HEALTHY, SUMS, all_gone

GONE = 5 * 1.0  # seconds: five times the figure


@pytest.fixture(scope="module")
def before(kernel) -> dict[str, int]:
    return kernel.settle()


@pytest.fixture(autouse=True)
def as_before(kernel, before):
    """After every test the same kernel computes, and holds what it held."""
    yield
    assert kernel.run(HEALTHY).text == SUMS
    assert sorted(kernel.workers()) == sorted(kernel.pids())
    assert kernel.more_than(before) == {}


def prints(kernel, code: str) -> str:
    """What a cell that ends well prints."""
    cell = kernel.run(code)
    assert not cell.error, cell.error
    return cell.text


def test_two_pools_at_once_and_the_failure_of_one_leaves_the_other_alone(kernel):
    pids = kernel.pids()
    text = prints(
        kernel,
        "with Ranks(2, backend='gloo') as two:\n"
        "    print(two.run(healthy), r.run(healthy))\n"
        "    try: two.run(os._exit, 7)\n"
        "    except RankError as error: print(error)\n"
        "    print(two.run(healthy), r.run(healthy))",
    )
    both = f"[8.0, 8.0] {SUMS}"
    assert text == f"{both}ranks 0, 1 exited with code 7 before it was done\n{both}"
    assert kernel.pids() == pids


def test_a_pool_outlives_the_thread_that_made_it(kernel):
    text = prints(
        kernel,
        "made = []\n"
        "t = threading.Thread(target=lambda: made.append(Ranks(2, backend='gloo'))); t.start(); t.join()\n"
        "print(made[0].run(healthy)); time.sleep(0.2); print(made[0].run(healthy)); made[0].close()",
    )
    assert text == "[8.0, 8.0]\n" * 2


def test_pools_made_and_used_in_four_threads_at_once(kernel):
    text = prints(
        kernel,
        "found = []\n"
        "def work():\n"
        "    with Ranks(2, backend='gloo') as two: found.append(two.run(healthy))\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "print(found)",
    )
    assert text == f"{[[8.0, 8.0]] * 4}\n"


def test_a_second_call_from_another_thread_is_refused_and_the_first_goes_on(kernel):
    text = prints(
        kernel,
        "began, said = threading.Event(), []\n"
        "t = threading.Thread(target=lambda: said.append(r.run(lambda: (emit(1), time.sleep(0.5)) and 7,"
        " on_emit=lambda rank, what: began.set())))\n"
        "t.start(); began.wait()\n"
        "try: r.run(healthy)\n"
        "except RuntimeError as error: print(error)\n"
        "t.join(); print(said)",
    )
    assert text.startswith("these ranks are in a call already") and text.endswith("[[7, 7, 7, 7]]\n")


def test_a_pool_that_nobody_holds_is_ended(kernel):
    pids = prints(
        kernel, "two = Ranks(2, backend='gloo'); print(*two.run(os.getpid))\nimport gc; del two; gc.collect();"
    )
    assert all_gone([int(pid) for pid in pids.split()], GONE)


def test_a_closed_pool_says_so(kernel):
    cell = kernel.run("two = Ranks(2, backend='gloo'); two.close(); two.close(); two.run(healthy)")
    assert cell.error == "RuntimeError: these ranks are closed: make new ones with Ranks()"


@pytest.mark.parametrize("victims", [1, 2, 3, 4])
def test_ranks_shot_at_once_are_all_named(kernel, victims):
    text = prints(
        kernel,
        "pids = r.run(os.getpid)\n"
        "def aim(rank, what):\n"
        f"    if rank == 0: [os.kill(pid, signal.SIGKILL) for pid in pids[:{victims}]]\n"
        "def f():\n"
        "    dist.barrier(); emit(0)\n"
        "    while True: dist.all_reduce(torch.ones(4))\n"
        "try: r.run(f, on_emit=aim)\n"
        "except RankError as error: print(error.root.kind, *[s.startswith('died: SIGKILL') for s in error.states])",
    )
    assert text.split() == ["died", *(str(rank < victims) for rank in range(4))]


def test_a_fork_of_the_kernel_ends_nothing_and_keeps_nothing_alive(kernel):
    """The child holds copies of all pipes: the ranks must end all the same, and at once."""
    made = prints(kernel, "two = Ranks(2, backend='gloo'); print(*two.run(os.getpid))")
    text = prints(
        kernel,
        "child = os.fork()\n"
        "if child == 0: time.sleep(600)\n"
        "print(two.run(healthy)); two.close(); os.kill(child, signal.SIGKILL); os.waitpid(child, 0);",
    )
    assert text == "[8.0, 8.0]\n"
    assert all_gone([int(pid) for pid in made.split()], GONE)


def test_a_rank_may_fork_and_its_child_does_not_answer_for_it(kernel):
    text = prints(
        kernel,
        "def f():\n    if (child := os.fork()) == 0: os._exit(0)\n    return os.waitpid(child, 0)[1]\nprint(r.run(f))",
    )
    assert text == "[0, 0, 0, 0]\n"


def test_what_a_thread_prints_later_comes_with_a_later_call(kernel):
    prints(kernel, "r.run(lambda: threading.Timer(0.2, print, ['late']).start())\ntime.sleep(0.5)")
    assert prints(kernel, "r.run(lambda: None)").count("late") in (0, 4), "with the next call or not at all, never torn"


def test_a_rank_that_closes_its_output_goes_on(kernel):
    assert prints(kernel, "print(r.run(lambda: (os.close(1), os.close(2)) and 1))") == "[1, 1, 1, 1]\n"
    kernel.run("r.run(os._exit, 7)")  # what it closed stays closed as long as it lives


def test_a_folder_that_is_gone_is_an_error_and_leaves_nothing(kernel):
    cell = kernel.run(
        "import tempfile; kept = os.getcwd(); gone = tempfile.mkdtemp(); os.chdir(gone); os.rmdir(gone)\n"
        "try: Ranks(2, backend='gloo')\n"
        "finally: os.chdir(kept)",
    )
    assert cell.error.startswith("FileNotFoundError")


def test_a_rank_that_changes_its_folder_changes_only_its_own(kernel):
    text = prints(kernel, "here_before = os.getcwd(); r.run(os.chdir, '/'); print(os.getcwd() == here_before)")
    assert text == "True\n"


def test_a_disk_that_is_full(kernel):
    """No file may grow beyond nothing: the launch says so, and leaves nothing."""
    cell = kernel.run(
        "import resource; free = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, free[1]))\n"
        "try: Ranks(2, backend='gloo')\n"
        "finally: resource.setrlimit(resource.RLIMIT_FSIZE, free)"
    )
    assert cell.error == "OSError: [Errno 27] File too large"
