"""More than one pool, more than one thread, forks, vanished folders: nothing is left, nobody is cut off, errors are clear."""

from __future__ import annotations

import psutil
import pytest
from kernels import FOUR, HEALTHY, SUMS, all_gone

pytestmark = pytest.mark.faults

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


@pytest.mark.matrix("rarer things that ranks do")
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


def test_the_last_error_keeps_no_ranks_alive(kernel):
    """IPython holds it, and by its frames all that they knew: a cell that makes its ranks anew must end the old ones."""
    pids = prints(kernel, "two = Ranks(2, backend='gloo'); print(*two.run(os.getpid))")
    assert kernel.run("two.run(lambda: 1 / 0)").error.startswith("RankError: ranks 0, 1 raised ZeroDivisionError")
    kernel.run("two = None")
    assert all_gone([int(pid) for pid in pids.split()], GONE)


def test_a_closed_pool_says_so(kernel):
    cell = kernel.run("two = Ranks(2, backend='gloo'); two.close(); two.close(); two.run(healthy)")
    assert cell.error == "RuntimeError: these ranks are closed: make new ones with Ranks()"


@pytest.mark.matrix("rarer things that ranks do")
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


@pytest.mark.matrix("rarer things that ranks do")
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


@pytest.mark.matrix("rarer things that ranks do")
def test_a_rank_may_fork_and_its_child_does_not_answer_for_it(kernel):
    text = prints(
        kernel,
        "def f():\n    if (child := os.fork()) == 0: os._exit(0)\n    return os.waitpid(child, 0)[1]\nprint(r.run(f))",
    )
    assert text == "[0, 0, 0, 0]\n"


def test_a_rank_that_closes_all_descriptors_is_named(kernel):
    """Gloo ends the process when it finds its sockets gone, at once or in the next collective."""
    text = prints(
        kernel,
        "def f():\n    if dist.get_rank() == 3: os.closerange(3, 10_000)\n    dist.all_reduce(torch.ones(4))\n"
        "try: r.run(f)\nexcept RankError as error: print(error.root.kind, error.root.rank)",
    )
    assert text.endswith("died 3\n")


def test_what_a_rank_forks_ends_with_it(kernel):
    """At once when its ranks do, however it is busy; and it has no part in the rank's own calls."""
    text = prints(
        kernel,
        "def f():\n"
        "    if (child := os.fork()) == 0: sum(range(10**12))\n"
        "    return child\n"
        "two = Ranks(2, backend='gloo'); children = two.run(f)\n"
        "print(two.run(healthy)); two.close(); print(*children)",
    )
    sums, children = text.splitlines()
    assert sums == "[8.0, 8.0]" and all_gone([int(pid) for pid in children.split()], GONE)


def test_a_fork_that_does_not_end_in_the_call_ends_with_it_and_answers_nothing(kernel):
    """Its answer would be taken for the rank's, and the rank's own for the next call's."""
    text = prints(
        kernel,
        "def f():\n    child = os.fork()\n    return os.waitpid(child, 0)[1] if child else 'never'\n"
        "print(r.run(f), r.run(f), r.run(healthy))\n"
        "def g():\n    child = os.fork()\n    if not child: emit('never')\n    return os.waitpid(child, 0)[1]\n"
        "print(r.run(g, on_emit=say))",
    )
    assert text.startswith(f"{[0] * 4} {[0] * 4} {SUMS}")
    assert text.endswith(f"{[256] * 4}\n") and text.count("RuntimeError: emit() works in the rank itself") == 4


@pytest.mark.matrix("rarer things that ranks do")
def test_a_data_loader_may_have_workers(kernel):
    """As under torchrun: by Python's own way of starting a process, with a class of the cell."""
    text = prints(
        kernel,
        "class Squares(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 8\n"
        "    def __getitem__(self, i): return i * i\n"
        "def load(): return [b.tolist() for b in torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2)]\n"
        "print(r.run(load)[3])",
    )
    assert text == "[[0, 1, 4, 9], [16, 25, 36, 49]]\n"


def test_a_thread_that_never_ends_keeps_no_result_and_no_rank(kernel):
    text = prints(
        kernel,
        "def f():\n    threading.Thread(target=time.sleep, args=(600,)).start()\n    return 7\n"
        "two = Ranks(2, backend='gloo'); print(two.run(f)); pids = two.run(os.getpid)\n"
        "start = time.monotonic(); two.close(); print(time.monotonic() - start, *pids)",
    )
    result, closed = text.splitlines()
    seconds, *pids = closed.split()
    assert result == "[7, 7]" and float(seconds) < GONE and all_gone([int(pid) for pid in pids], 0)


def test_a_fork_server_that_is_shot_takes_its_ranks_with_it_and_the_next_call_starts_another(kernel):
    pids = kernel.pids()
    server = psutil.Process(pids[0]).parent()
    server.kill()
    assert all_gone([server.pid, *pids], GONE)
    for socket in kernel.scratch.rglob("listener-*"):  # multiprocessing would keep it until the notebook ends
        socket.unlink()
    assert kernel.run(HEALTHY).error.startswith("RankError: ranks 0-3 ")


@pytest.mark.matrix("rarer things that ranks do")
def test_what_a_thread_prints_later_comes_with_a_later_call(kernel):
    prints(kernel, "r.run(lambda: threading.Timer(0.2, print, ['late']).start())\ntime.sleep(0.5)")
    assert prints(kernel, "r.run(lambda: None)").count("late") in (0, 4), "with the next call or not at all, never torn"


@pytest.mark.matrix("rarer things that ranks do")
def test_a_rank_that_closes_its_output_goes_on(kernel):
    assert prints(kernel, "print(r.run(lambda: (os.close(1), os.close(2)) and 1))") == "[1, 1, 1, 1]\n"
    kernel.run("r.run(os._exit, 7)")  # what it closed stays closed as long as it lives


@pytest.mark.parametrize("server", ["warm", "cold"])
def test_a_folder_that_is_gone_is_no_hindrance(kernel, server):
    """Somebody has removed the notebook's folder: ranks begin in the one for temporary files, the notebook stays where it is."""
    stop = (
        "from multiprocessing import forkserver; r.close(); forkserver._forkserver._stop()\n"
        if server == "cold"
        else ""
    )
    text = prints(
        kernel,
        "import tempfile; kept = os.getcwd(); gone = tempfile.mkdtemp(); os.chdir(gone); os.rmdir(gone)\n"
        f"{stop}try:\n"
        "    with Ranks(2, backend='gloo') as two: print(two.run(healthy), set(two.run(os.getcwd)) == {tempfile.gettempdir()})\n"
        "    try: os.getcwd()\n"
        "    except FileNotFoundError: print('still gone')\n"
        "finally: os.chdir(kept)",
    )
    assert text == "[8.0, 8.0] True\nstill gone\n"
    kernel.run("r.close(); " + FOUR.format(timeout=2.0))


@pytest.mark.matrix("rarer things that ranks do")
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
    assert cell.error.startswith("OSError: [Errno 27] File too large: no room for the ranks' folder in ")
