"""What a reader meets in a notebook: functions and classes born in a cell, errors that show its lines, values that stay."""

from __future__ import annotations

from kernels import HEALTHY, SUMS


def test_a_function_of_the_cell_runs_and_its_output_is_in_order(kernel):
    cell = kernel.run("def f(k): print('hi'); return dist.get_rank() * k\nprint(r.run(f, 10))")
    assert (cell.error, cell.text) == ("", "[rank 0] hi\n[rank 1] hi\n[rank 2] hi\n[rank 3] hi\n[0, 10, 20, 30]\n")


def test_an_error_shows_the_cells_own_lines_and_no_path(kernel):
    cell = kernel.run(
        "def f():\n    x = torch.ones(4)\n    if dist.get_rank() == 1:\n        raise ValueError('boom')\n    dist.all_reduce(x)\nr.run(f)"
    )
    assert cell.error == (
        "RankError: rank 1 raised ValueError: boom\n"
        '  File "cell", line 4, in f\n'
        "    raise ValueError('boom')\n"
        "ranks 0, 2, 3: waiting in all_reduce #1 of float32[4] at cell line 5"
    )
    assert kernel.run(HEALTHY).text == SUMS


def test_a_rank_that_reads_its_own_source_finds_the_cell(kernel):
    cell = kernel.run(
        "import inspect\ndef f(): return inspect.getsource(f)  # only here\nprint(all('only here' in s for s in r.run(f)))"
    )
    assert (cell.error, cell.text) == ("", "True\n")


def test_a_class_of_the_notebook_keeps_its_identity(kernel):
    cell = kernel.run("class A: pass\nprint([isinstance(a, A) for a in r.run(lambda: A())])")
    assert cell.text == "[True, True, True, True]\n"


def test_here_stays_from_cell_to_cell(kernel):
    kernel.run("def build(): here.model = torch.nn.Linear(2, 2)\nr.run(build)")
    cell = kernel.run("def use(): return here.model.weight.numel()\nprint(r.run(use))")
    assert cell.text == "[4, 4, 4, 4]\n"


def test_no_interrupt_reaches_the_forkserver_or_a_rank(kernel):
    """Jupyter interrupts the whole process group, and a forkserver that is still importing would die of it."""
    cell = kernel.run(
        "def masks(pid):\n"
        "    lines = open(f'/proc/{pid}/status').read().splitlines()\n"
        "    return [int(line.split()[1], 16) >> 1 & 1 for line in lines if line[:6] in ('SigBlk', 'SigIgn')]\n"
        "print(r.run(lambda: (masks(os.getppid()), masks(os.getpid())))[0])"
    )
    assert cell.text == "([1, 1], [0, 1])\n", "blocked and ignored in the server, ignored in a rank"


def test_the_notebook_shows_the_message_and_not_the_way_through_the_library(kernel):
    kernel.run("def f(): raise ValueError('boom')")
    cell = kernel.run("r.run(f)")
    assert cell.shown == [cell.error, "(everything the ranks said and did: print(ranks.details()))"]
    details = kernel.run("print(r.details())").text
    assert "Traceback (most recent call last)" in details and details.count("raised ValueError: boom") == 5


def test_ranks_import_what_the_notebook_imports_and_load_again_what_it_loads_again(kernel, tmp_path):
    """A folder that came to sys.path after the ranks had started, and a file that is edited under %autoreload."""
    lab = tmp_path / "lab_of_mine.py"
    lab.write_text("def answer(): return 1\n")
    kernel.run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n%load_ext autoreload\n%autoreload 2\nimport lab_of_mine"
    )
    both = "print(lab_of_mine.answer(), r.run(lab_of_mine.answer)[3], r.run(lambda: lab_of_mine.answer())[3])"
    cell = kernel.run(both)
    assert (cell.error, cell.text) == ("", "1 1 1\n")
    lab.write_text("def answer(): return 22\n")
    cell = kernel.run(both)
    kernel.run("%autoreload 0")
    assert (cell.error, cell.text) == ("", "22 22 22\n")
    lab.write_text("def answer(): return 333\n")
    assert kernel.run(both).text == "22 22 22\n", "the notebook has not loaded it again, so no rank does"


def test_a_class_that_is_defined_again_is_the_new_one_and_old_objects_keep_the_old(kernel):
    make = "class Box:\n    def size(self): return {}\n{} = Box()"
    kernel.run(make.format(1, "old"))
    kernel.run("def keep(): here.box = Box()\nr.run(keep)")
    kernel.run(make.format(2, "new"))
    cell = kernel.run("print(r.run(lambda: (old.size(), new.size(), here.box.size(), Box().size()))[3])")
    assert (cell.error, cell.text) == ("", "(1, 2, 1, 2)\n")
