"""make gpu-check: on the fake machine, where every line of it runs, and on the CPU; and what it does with checks that fail, hang or end."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import sys

import planted_checks
import psutil
import pytest
from fake_cuda import environment
from lanes import some

from helpers.memory import unpack
from helpers.ranks import Swept
from helpers.ranks.sweeping.found import Case, SweptRow, Took
from helpers.ranks.sweeping.settings import Asked
from helpers.records import packed as runs
from helpers.records import record_of
from helpers.yours import Verdict, is_my_number_good
from helpers.yours.causes import cause
from tools import gpu_check, progress
from tools.gpu import desk, durations, figures, labs, nameless, results, serve, sweeps
from tools.gpu.checks import CHECKS, Check
from tools.gpu.place import Place

PLAYED = "NVIDIA Fake"
LIVING = re.compile(r"\d+ of \d+  .+  \d+ s; about \d+ (s|min) left")
# With 1 and 8 GPUs: what starts ranks, counts GPUs or shares them. The rest asks for no number, and runs with two.
COUNTED = ["ranks start", "what is here", "ten primitives", "GPU to GPU", "nothing is left"]
MORE = {1: ["two ranks on one", "settings, ranks on one"], 8: ["some ranks"]}


class Checked:
    """A finished gpu-check: its exit code, its table and its records by name. It starts with Ctrl-C ignored, as behind `&`."""

    def __init__(self, root, out, env, *arguments: str):
        command = [sys.executable, "-m", "tools.gpu_check", "--out", str(out), *arguments]
        command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
        done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=560)
        self.code, self.rows, self.said = done.returncode, done.stdout.splitlines(), done.stdout + done.stderr
        self.out = out
        self.records = {path.stem: json.loads(path.read_text()) for path in out.rglob("*.json")}

    @property
    def answers(self) -> dict[str, dict]:
        return self.records["gpu-check"]["data"]

    def outcomes(self, kind: str) -> set[str]:
        return {name for name, answer in self.answers.items() if answer["outcome"] == kind}


@pytest.fixture(scope="module")
def played(root, tmp_path_factory):
    """gpu-check on a machine with so many GPUs: (gpus, words of --only) -> Checked."""

    def run(gpus: int, *only: str) -> Checked:
        folder, out = tmp_path_factory.mktemp("processes"), tmp_path_factory.mktemp("recorded")
        return Checked(root, out, environment(gpus, folder), *(["--only", *only] if only else []))

    return run


# A process each that imports torch and goes through its operators one by one; tests/test_gpu_memory.py has their parts.
SLOW = ["memory, operator by operator", "memory, predicted", "the allocator's model", "its expandable segments"]
# Every rank of these imports torch's compiler, and some strategies reach what is not played: tests/test_gpu_parallel.py has them.
TRIED = [check for check in CHECKS if not check.name.startswith("parallel") and check.name not in SLOW]
# Of each kind of check some are for `make test`; these start ranks or a process of their own, or wait for a deadline, once more.
MORE_OF_A_KIND = {
    *("a collective is skipped", "a rank raises", "a rank returns early", "skipped, and its result is read"),
    *("different sizes", "interrupt while all are blocked", "the parent used its device first"),
    *("computing for long is no hang", "roofline", "host and GPU", "optimizers' peaks"),
    *("protocols, each forced", "reduce_scatter and all_reduce", "every schedule equals torch"),
}
FIGURES = {  # as the checks have them
    "bandwidth": {"all_reduce": [{"busbw": 4.6e11}]},
    "memory, predicted": {"gpt-2": {"share": 0.0}, "llama": {"share": -0.011}},
    "roofline": {"roof": "767 TFLOP/s"},
    "protocols, each forced": {"nccl": "2.29.2"},
    "ladder": {"steps": "memory 4299 GB/s both ways"},
    "every schedule equals torch": {"schedules": 60},
    "ten primitives": {"runs": 40},
    "a rank is killed": {"seconds": 0.1},
}
ON_ONE = {"settings, ranks on one GPU", "two ranks on one GPU"}  # they run with one GPU below
CHOSEN = {
    "all": TRIED,
    "some of each kind": [check for check in TRIED if check.name not in MORE_OF_A_KIND | ON_ONE],
}
WRITES = {
    "bandwidth": ("bandwidth",),
    "traces of real runs": ("trace-ring", "trace-binomial"),
    "roofline": ("roofline",),
    "ladder": ("ladder",),
    "host and GPU": ("transfers",),
    "GPU to GPU": ("pairs",),
    "memory, the article's stages": ("memory-stages", "article"),
    "optimizers' peaks": ("memory-optimizers",),
    "protocols, each forced": ("sweep-protocols",),
    "one process or many": ("processes",),
    "reduce_scatter and all_reduce": ("sweep-phases",),
    "settings, ranks on one GPU": ("sweep-one-gpu",),
}
ALONE = ("roofline", "ladder", "host and GPU", "GPU to GPU", "memory, the article's stages", "optimizers' peaks")


@pytest.fixture(scope="module", params=some(CHOSEN, ["some of each kind"], "gpu-check whole on two played GPUs"))
def chosen(request) -> list[Check]:
    return CHOSEN[request.param]


@pytest.fixture(scope="module")
def on_two(played, chosen) -> Checked:
    return played(2, *(check.name for check in chosen))


@pytest.fixture(scope="module")
def on_cpu(root, tmp_path_factory) -> Checked:
    only = ["ranks start", "stages", "a rank is killed", "CUDA graph"]
    arguments = ["--backend", "gloo", "--ranks", "2", "--only", *only]
    return Checked(root, tmp_path_factory.mktemp("recorded"), dict(os.environ), *arguments)


def test_every_check_passes_on_two_gpus(on_two, chosen):
    assert on_two.code == 0, on_two.said
    assert list(on_two.answers) == [check.name for check in chosen] and on_two.outcomes("passed") == set(on_two.answers)
    assert on_two.rows[0] == f"2 ranks, nccl, 2 x {PLAYED}" and on_two.rows[1].startswith("about ")
    on_two.rows[:] = [row for row in on_two.rows if not LIVING.match(row)]
    assert [row.startswith(c.name) for row, c in zip(on_two.rows[2:], chosen, strict=False)] == [True] * len(chosen)
    heads = ("Is my number good?", "Three labs for this machine", "The run in one file")
    ending = on_two.rows[len(chosen) + 2 :]
    assert ending[0] == f"{len(chosen)} passed, 0 failed, 0 skipped, 0 not run" and [
        r for r in ending if r in heads
    ] == [*heads]
    assert "unbatched P2P" not in on_two.said, "torch's warning at a first send comes out in nobody's ping-pong"


def test_the_first_start_is_measured_before_anything_has_warmed_the_server(on_two):
    found = on_two.answers["ranks start"]["figures"]
    assert {"first start", "later start", "next call"} <= set(found)


def test_what_was_found_on_two_gpus(on_two):
    figures = {name: answer["figures"] for name, answer in on_two.answers.items()}
    assert figures["what is here"]["peers"] == [[True, True], [True, True]]
    assert figures["ten primitives"]["runs"] == 40 and figures["a group of some ranks"] == {"members": 1}
    assert {"kill", "seconds"} <= set(figures["a rank is killed"])
    assert figures["GPU to GPU"]["pairs"] == 2
    assert {"one process, host", "a process a GPU, host"} <= set(figures["one process or many"])
    if "protocols, each forced" in figures:
        assert figures["protocols, each forced"] == {"rows": 12, "nccl": "2.28.9"}
        assert figures["reduce_scatter and all_reduce"].keys() == {"reduce_scatter", "all_reduce"}


def test_it_records_with_machine_versions_and_command(on_two):
    records = dict(on_two.records)
    assert set(records) == {"gpu-check", *(f"gpu-{one}" for name in on_two.answers for one in WRITES.get(name, ()))}
    assert unpack(records.pop("gpu-article")["data"]["ranks"][0]).source == "tracked (CUDA tensors)"
    for name, record in records.items():
        ranks = name not in {f"gpu-{one}" for check in ALONE for one in WRITES[check]}
        assert record["label"] == (f"2 ranks, nccl, 2 x {PLAYED}" if ranks else f"one process, {PLAYED}")
        assert record["versions"]["nccl"] == "2.28.9"
        assert record["command"] == "python -m tools.gpu_check --backend nccl --ranks 2"
    for lines in records["gpu-bandwidth"]["data"].values():
        assert [line["nbytes"] for line in lines] == sorted({line["nbytes"] for line in lines}) and len(lines) > 3
        assert all(0 < line["min"] <= line["median"] and line["busbw"] > 0 for line in lines)
    assert [row["nbytes"] for row in records["gpu-processes"]["data"]["rows"]] == [2**k for k in (10, 13, 16, 19)]
    if "protocols, each forced" in on_two.answers:
        told = {case["protocol"]: case["rows"] for case in records["gpu-sweep-protocols"]["data"]["cases"]}
        assert {protocol: {row["protocol"] for row in rows} for protocol, rows in told.items()} == {
            protocol: {protocol} for protocol in ("LL", "LL128", "Simple")
        }
        assert records["gpu-roofline"]["data"]["float32 matmul precision"] == "highest"


@pytest.mark.matrix("gpu-check's slower checks of memory, on played GPUs")
def test_memory_is_what_the_tracker_and_the_models_say(played):
    found = played(2, *SLOW)
    assert found.code == 0 and found.outcomes("passed") == set(SLOW), found.said
    by_op = found.answers["memory, operator by operator"]["figures"]
    assert by_op["ops"] == by_op["equal"] > 500
    assert "gpu-tiny" in found.records


def test_what_it_writes_can_be_sent_in_one_file(on_two, tmp_path):
    """As an issue carries it: unpacked under recorded/from/NAME it is the single records, byte by byte, and each is whole."""
    packed = on_two.out / "run-2xfake.json.gz"
    place = runs.unpack(packed, folder=tmp_path)
    files = {path.relative_to(place): path.read_bytes() for path in place.rglob("*.json")}
    assert files == {path.relative_to(on_two.out): path.read_bytes() for path in on_two.out.rglob("*.json")}
    found = [record_of(path, tmp_path) for path in place.rglob("*.json")]
    assert {(record.kind, record.machine) for record in found} == {("reader", f"2 x {PLAYED}")} and len(found) > 5
    verdict = is_my_number_good(packed.read_bytes())
    assert verdict.sentence.startswith("Measured: all_reduce ") and verdict.causes[0].name == "no machine"


def test_it_names_nobody(planted, tmp_path, monkeypatch):
    """A check says all that it should not, where its error does: neither the records nor the file that is sent repeat it."""
    monkeypatch.setattr(nameless, "names", lambda: ("ada-node7", "ada.l"))
    folder, serial = (
        "/".join(["", "home", "ada.l", "env", "torch", "cuda.py"]),
        "GPU-8a5a00c4-e652-529b-7ba9-ba6bec39a678",
    )
    said = f"ada-node7 at 10.0.12.7 for ada.l\n{folder}: {serial} is lost; see ring/x.py and 12 GB/s"

    def tells(place):
        raise AssertionError(said)

    assert planted([Check("tells", tells)], tmp_path) == 1
    record = json.loads((tmp_path / "gpu-check.json").read_text())
    assert (
        record["data"]["tells"]["why"]
        == "AssertionError: ... at ... for ...\ncuda.py: ... is lost; see ring/x.py and 12 GB/s"
    )
    text = gzip.decompress((tmp_path / "run-cpu.json.gz").read_bytes()).decode()
    assert json.loads(text)["records"] == {"gpu-check": record}
    assert not any(word in text for word in ("ada", "10.0.12.7", serial, socket.gethostname()))


@pytest.mark.matrix("gpu-check on one and on eight played GPUs")
@pytest.mark.parametrize("machine", some([(1, 2), (8, 8)], [(1, 2)], "gpu-check on eight played GPUs"), ids=str)
def test_one_gpu_and_eight(played, machine):
    gpus, ranks = machine
    checked = played(gpus, *COUNTED, *MORE[gpus])
    assert checked.code == 0, checked.said
    shares = ", shares a GPU: not timed" if gpus < ranks else ""
    assert checked.rows[0] == f"{ranks} ranks, nccl, {gpus} x {PLAYED}{shares}"
    assert checked.outcomes("skipped") == ({"GPU to GPU"} if gpus == 1 else set())
    assert len(checked.answers["what is here"]["figures"]["peers"]) == gpus
    assert checked.answers["ten primitives"]["figures"]["runs"] == 2 * 10 * ranks
    if gpus == 1:
        assert checked.answers["two ranks on one GPU"]["figures"].keys() == {"NCCL_HOSTID"}, "the played NCCL is 2.28"
        assert checked.answers["settings, ranks on one GPU"]["figures"] == {"rows": 8, "nccl": "2.28.9"}
        assert checked.records["gpu-sweep-one-gpu"]["data"]["timed"] is False


def test_without_a_gpu_it_says_so(root, tmp_path):
    env = environment(0, tmp_path)
    done = subprocess.run([sys.executable, "-m", "tools.gpu_check"], cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no usable GPU here. (--backend gloo runs the checks on the CPU)" in done.stderr


def test_a_bare_machine_is_told_of_all_packages_at_once(root):
    """Without site-packages: a Python of the standard library only."""
    command = [sys.executable, "-S", "-m", "tools.gpu_check"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr == "gpu-check needs torch, numpy, cloudpickle, psutil, nvidia-ml-py. Type: make kernel\n"
    listed = next(
        line for line in (root / "Makefile").read_text().splitlines() if line.startswith("# On a machine with GPUs")
    )
    assert all(package in listed for package in gpu_check.NEEDED.values())


@pytest.mark.matrix("gpu-check on the CPU; what it skips there is asked in tests/test_gpu_memory.py")
def test_on_the_cpu_what_needs_a_gpu_says_so(on_cpu):
    assert on_cpu.code == 0, on_cpu.said
    assert on_cpu.rows[0] == "2 ranks, gloo, CPU" and on_cpu.outcomes("skipped") == {"a collective in a CUDA graph"}
    found = {name: answer["figures"] for name, answer in on_cpu.answers.items() if "figures" in answer}
    assert found["memory, the article's stages"]["share"] == 0
    assert found["a rank is killed"]["seconds"] < 5


def test_a_check_that_fails_hangs_or_ends_stops_no_other(monkeypatch, root, capsys, tmp_path):
    """And while one hangs, a line says so at every beat."""
    monkeypatch.setenv("PYTHONPATH", str(root / "tests"))
    monkeypatch.setattr(progress, "BEAT", 2.5)
    place = Place("gloo", 2, 0)
    with (tmp_path / "log").open("w") as log:
        answers = desk.run(place, planted_checks.CHECKS, "planted_checks", log=log)
    said = {name: (answer["outcome"], answer.get("why")) for name, answer in answers.items()}
    assert said == {
        "first": ("passed", None),
        "raises": ("failed", "AssertionError: planted <b>"),
        "hangs": ("failed", "hung: stopped after 6 s"),
        "after it": ("passed", None),
        "ends": ("failed", "its process ended (code 3)"),
        "needs GPUs": ("passed", None),
        "needs NCCL": ("skipped", "needs NCCL"),
        "last": ("passed", None),
    }
    assert len({answers[name]["figures"]["pid"] for name in ("first", "after it", "last")}) == 3, (
        "a new process each time"
    )
    assert not any(psutil.pid_exists(answers[name]["figures"]["pid"]) for name in ("first", "after it", "last"))
    rows = capsys.readouterr().out.splitlines()
    living = [row for row in rows if LIVING.match(row)]
    assert len(rows) == len(planted_checks.CHECKS) + len(living)
    assert len([row for row in living if row.startswith("3 of 8  hangs  ") and "about 4 s left" in row]) >= 2
    assert "planted <b>" in (tmp_path / "log").read_text(), "what checks print"


@pytest.fixture
def planted(monkeypatch):
    """gpu-check with planted checks, answered without a process of their own: (checks) -> how main ends."""
    monkeypatch.setattr(desk.Server, "ask", lambda server, check, limit, alive: serve.answer(check, server.place))

    def run(checks, out, *more: str) -> int:
        monkeypatch.setattr(desk, "CHECKS", checks)
        return desk.main(["--backend", "gloo", "--ranks", "2", "--out", str(out), *more])

    return run


def test_a_failure_is_the_exit_code(planted, tmp_path):
    assert planted(planted_checks.CHECKS[:2], tmp_path) == 1
    record = json.loads((tmp_path / "gpu-check.json").read_text())
    assert record["data"]["raises"]["outcome"] == "failed"
    assert planted(planted_checks.CHECKS[:2], tmp_path, "--only", "first") == 0


def test_whoever_ends_it_leaves_what_was_found_until_then(planted, tmp_path, monkeypatch):
    """As at the end of a session's time: the second check ends everything, and the first is in the file, the others by name."""
    asked = desk.Server.ask

    def ask(server, check, *more):
        if check.name == "raises":
            raise KeyboardInterrupt
        return asked(server, check, *more)

    monkeypatch.setattr(desk.Server, "ask", ask)
    with pytest.raises(KeyboardInterrupt):
        planted(planted_checks.CHECKS[:3], tmp_path)
    data = json.loads((tmp_path / "gpu-check.json").read_text())["data"]
    assert (tmp_path / "run-cpu.json.gz").exists()
    assert {name: answer["outcome"] for name, answer in data.items()} == {
        "first": "passed",
        "raises": "not run",
        "hangs": "not run",
    }


def test_what_no_longer_fits_is_named_as_not_run(planted, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(desk, "BUDGET", 60.0)
    monkeypatch.setattr(Check, "takes", lambda check, place: 1000.0 if check.name == "raises" else 1.0)
    checks = [planted_checks.CHECKS[0], planted_checks.CHECKS[1], planted_checks.CHECKS[-1]]
    assert planted(checks, tmp_path) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[1] == "about 2 s of 60 on the CPU; no time is left for: raises"
    assert "it takes about 1000" in next(row for row in out if row.startswith("raises") and "not run" in row)
    assert "2 passed, 0 failed, 0 skipped, 1 not run" in out


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_everything_fits_into_its_time_by_its_own_estimate(gpus):
    place = Place("nccl", max(2, gpus), gpus)
    assert "no time" not in desk.estimate(place, CHECKS)
    assert all(0 < check.takes(place) < check.deadline for check in CHECKS)
    assert list(durations.SECONDS) == [check.name for check in CHECKS]


def test_a_runs_own_seconds_go_into_the_table(monkeypatch, tmp_path, capsys):
    """What passed, in the column of its GPUs."""
    run, table = tmp_path / "gpu-check.json", tmp_path / "durations.toml"
    table.write_text('# mine\n"ladder" = [4, 5]\n"roofline" = [7, 8]\n')
    monkeypatch.setattr(durations, "TABLE", table)
    data = {"ladder": {"outcome": "passed", "seconds": 2.345}, "roofline": {"outcome": "failed", "seconds": 0.1}}
    for gpus, code in ((8, 0), (2, 2)):
        run.write_text(json.dumps({"machine": {"gpus": ["H100"] * gpus}, "data": data}))
        assert durations.main([str(run)]) == code
    assert table.read_text() == '# mine\n"ladder" = [4, 2.3]\n"roofline" = [7, 8]\n'
    assert "of 1 and 8 GPUs, and this run had 2" in capsys.readouterr().err
    monkeypatch.setattr(durations, "SECONDS", {"ladder": [1.0, 8.0]})
    assert [durations.seconds("ladder", gpus) for gpus in (1, 4, 8, 16)] == [1, 4, 8, 8] and durations.seconds(
        "new", 4
    ) == 5


@pytest.mark.parametrize(
    "gpus, name",
    [
        (["NVIDIA H100 80GB HBM3"] * 8, "8xh100"),
        (["NVIDIA A100-SXM4-40GB", "NVIDIA H200", "NVIDIA H200"], "1xa100-40gb-2xh200"),
        (["NVIDIA GeForce RTX 3090 Ti"], "1xgeforce-rtx-3090-ti"),
        ([], "cpu"),
    ],
)
def test_a_run_is_named_after_its_gpus(gpus, name):
    assert nameless.run_name(gpus) == name


def test_three_labs_by_what_is_there():
    """What the verdict accuses comes first; where ranks fail, no lab that starts some."""
    passed = {one.check: {"outcome": "passed", "figures": FIGURES[one.check]} for one in labs.LABS if one.check}
    sound, failing = (
        Verdict("run"),
        Verdict("run", causes=(cause("slow memory", "why"), cause("failed checks of ranks", "why"))),
    )
    assert [stem for stem, _ in labs.labs(passed, sound)] == ["benchmarking", "training-memory", "roofline"]
    assert (
        "460 GB/s busbw at most" in labs.labs(passed, sound)[0][1] and "within 1.1%" in labs.labs(passed, sound)[1][1]
    )
    chosen = [stem for stem, _ in labs.labs(passed, failing)]
    assert chosen[0] == "memory-hierarchy" and "benchmarking" not in chosen and len(chosen) == 3
    assert len(labs.labs({}, failing)) == 3
    assert {one.check for one in labs.LABS} - {""} <= {check.name for check in CHECKS}
    assert all((labs.ROOT / "notebooks" / f"{one.stem}.ipynb").exists() for one in labs.LABS)


def test_on_one_gpu_what_needs_two_is_skipped_by_name():
    place = Place("nccl", 2, 1)
    assert {c.name for c in CHECKS if c.skipped(place)} == {
        *("what a note costs", "bandwidth", "traces of real runs", "GPU to GPU", "protocols, each forced"),
        *("one process or many", "reduce_scatter and all_reduce", "parallel: pipelines wait", "parallel: overlap"),
        "parallel: context beside torch's",
    }
    assert {c.skipped(place) for c in CHECKS} == {"", "needs 2 GPUs"}
    assert not any(check.skipped(Place("nccl", 8, 8)) for check in CHECKS)


def test_bandwidth_goes_up_to_the_size_that_it_says():
    sizes = figures.sizes_up_to(memory=140 * 2**30, nranks=2)
    assert (sizes[0], sizes[-1]) == (2**10, 2**30)


def test_files_that_others_left_in_shared_memory_are_not_ours(monkeypatch):
    monkeypatch.setattr(results, "nccl_files", lambda: {"nccl-old"})
    assert results.nothing_left(Place("gloo", 2, 0, ("nccl-old",)))
    with pytest.raises(AssertionError, match="nccl-old"):
        results.nothing_left(Place("gloo", 2, 0))


def test_a_setting_without_effect_fails_its_check(monkeypatch):
    row = SweptRow(Asked("Ring", "LL"), "all_reduce", 2, 1024, None, 0, Took("Tree", "LL"), False)
    found = Swept("all_reduce", 2, "2 ranks", False, (Case(row.asked, "ran", rows=(row,)),))
    monkeypatch.setattr(sweeps, "sweep", lambda *_, **__: found)
    with pytest.raises(AssertionError, match="Ring/LL: NCCL took Tree/LL"):
        sweeps._swept("all_reduce")
    untold = Swept(
        "all_reduce", 2, "2 ranks", False, (Case(row.asked, "ran", rows=(row._replace(took=None, took_effect=None),)),)
    )
    monkeypatch.setattr(sweeps, "sweep", lambda *_, **__: untold)
    with pytest.raises(AssertionError, match="log does not tell"):
        sweeps._swept("all_reduce")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--backend", "gloo", "--ranks", "1"], "the checks need 2 ranks or more, got 1"),
        (["--backend", "gloo", "--ranks", "65"], "the number of ranks lies in 1..64, got 65"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(arguments, said, capsys):
    assert gpu_check.main(arguments) == 2
    assert said in capsys.readouterr().err
