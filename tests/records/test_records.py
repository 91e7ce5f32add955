"""Every recorded file is whole, and one that is damaged is refused with the place where it is."""

from __future__ import annotations

import gzip
import json
import random
import runpy
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from helpers.nccl.published import TIMINGS, published
from helpers.ranks.recorded import machine, versions
from helpers.records import FOLDER, RecordError, lab_runs, record_of, records, whole
from helpers.records.whole import KINDS, files_of

FILES = files_of(FOLDER)


@cache
def loaded(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def copied(name: str) -> Any:
    return json.loads(json.dumps(loaded(name)))


def line(nbytes: int, seconds: float, factor: float) -> dict[str, float]:
    algbw = nbytes / seconds
    return {"nbytes": nbytes, "min": seconds, "median": 1.1 * seconds, "algbw": algbw, "busbw": algbw * factor}


def bandwidth() -> dict[str, Any]:
    """As `make gpu-check` writes it, of 8 ranks."""
    sizes = [2**n for n in range(10, 31, 4)]
    data = {"all_reduce": [line(n, 20e-6 + n / 300e9, 2 * 7 / 8) for n in sizes]}
    data["all_gather"] = [line(n, 15e-6 + n / 350e9, 7 / 8) for n in sizes]
    about = {"label": "8 ranks, nccl, 8 x H100", "machine": machine(), "versions": versions(), "date": "2026-11-23"}
    return {"name": "gpu-bandwidth", "data": data, **about, "command": "python -m tools.gpu_check --ranks 8"}


def written(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def refusal(folder: Path, name: str, data: Any) -> str:
    with pytest.raises(RecordError) as said:
        whole(written(folder, name, data), folder)
    return str(said.value)


def at(*way: object) -> Callable[[Any, Any], None]:
    """Puts a value there."""

    def put(data: Any, value: Any) -> None:
        for step in way[:-1]:
            data = data[step]
        data[way[-1]] = value

    return put


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_recorded_file_is_whole(path):
    assert whole(path, FOLDER)


def test_the_list_has_every_file_once_by_kind():
    found = records()
    assert sorted(record.path for record in found) == sorted(path.relative_to(FOLDER).as_posix() for path in FILES)
    order = [list(KINDS).index(record.kind) for record in found]
    assert order == sorted(order) and {record.kind for record in found} >= {"run", "memory", "predicted", "published"}
    for record in found:
        assert record.what and record.machine
        assert (record.url is not None) == (record.kind == "published")
        if record.kind in ("run", "memory", "reader", "trace"):
            assert record.command and record.versions and record.date


def test_a_readers_run_is_told_with_its_gpus(tmp_path):
    told = bandwidth()
    told["machine"]["gpus"] = ["NVIDIA H100 80GB HBM3"] * 8
    told["data"]["all_reduce"][0]["median"] = told["data"]["all_reduce"][0]["min"]  # of a single repetition
    record = record_of(written(tmp_path, "from/8xh100/gpu-bandwidth.json", told), tmp_path)
    assert (record.kind, record.machine, record.date) == ("reader", "8 x NVIDIA H100 80GB HBM3", "2026-11-23")
    assert record.name == "gpu-bandwidth"
    assert record_of(FOLDER / "public" / "torch-8xh200-all_reduce.json").date == "2026-08-04"
    assert record_of(FOLDER / "public" / "nccl-tests-4xh100-all_reduce.json").date == "published 2025-09-09"


RUN = "from/8xh100/gpu-bandwidth.json"
ADA = "/".join(["", "home", "ada"])
SUPER = "/".join(["", "root", "x"])
LINE = bandwidth()["data"]["all_reduce"][3]
DAMAGED = [
    (at("date"), "yesterday", "date: expected a date like 2026-11-23, got 'yesterday'"),
    (at("date"), "2026-13-01", "date: expected a date"),
    (at("name"), "mine", "name: expected the file's own name, 'gpu-bandwidth', got 'mine'"),
    (at("label"), "", "label: expected a text, got ''"),
    (at("label"), "eight GPUs", "label: expected a text that says how many ranks"),
    (at("host"), "node-7", "no field is called 'host': expected name, label"),
    (at("machine", "hostname"), "node-7", "machine: no field is called 'hostname'"),
    (at("command"), "cd /Users/ada && make", "names a folder of somebody's machine: /Users/ada"),
    (at("command"), f"ls {SUPER}", f"names a folder of somebody's machine: {SUPER}"),
    (at("data", "all_reduce", 2, "algbw"), 0, "data.all_reduce.2.algbw: expected a number above 0, got 0"),
    (at("data", "all_reduce", 3, "busbw"), 1.01 * LINE["busbw"], "data.all_reduce.3.busbw: expected "),
    (at("machine", "cores"), 0, "machine.cores: expected a whole number from 1, got 0"),
    (at("machine", "gpus"), "8 x H100", "machine.gpus: expected a list, got '8 x H100'"),
    (at("versions", "torch"), None, "versions.torch: expected a text, got None"),
    (at("command"), f"cd {ADA} && make gpu-check", f"names a folder of somebody's machine: {ADA}"),
    (at("data"), {}, "data: expected what was measured, got {}"),
    (at("data", "all_reduce", 3, "busbw"), 3.56e11, "data.all_reduce.3.busbw: expected "),
    (at("data", "all_reduce", 3, "algbw"), 1.0, "data.all_reduce.3.algbw: expected "),
    (at("data", "all_reduce", 2, "median"), 1e-9, "data.all_reduce.2.median: expected no less than min"),
    (at("data", "all_reduce", 2, "min"), True, "data.all_reduce.2.min: expected a number above 0, got True"),
    (at("data", "all_reduce", 1), [], "data.all_reduce.1: expected an object, got []"),
    (at("data", "all_gather"), [], "data.all_gather: expected a list with something in it, got []"),
    (at("data", "ring"), [line(8, 1.0, 1.0)], "data: expected one of all_reduce"),
]


@pytest.mark.parametrize(("put", "value", "words"), DAMAGED, ids=[words[:40] for *_, words in DAMAGED])
def test_a_damaged_run_is_refused_with_the_place(tmp_path, put, value, words):
    told = bandwidth()
    assert whole(written(tmp_path, RUN, told), tmp_path) == told
    put(told, value)
    said = refusal(tmp_path, RUN, told)
    assert said.startswith(f"{RUN}: ") and words in said


def test_a_size_that_comes_twice_is_refused(tmp_path):
    told = bandwidth()
    told["data"]["all_gather"].insert(1, told["data"]["all_gather"][0])
    assert refusal(tmp_path, RUN, told).endswith(
        "data.all_gather.1.nbytes: expected more than the 1024 before it, got 1024"
    )


def test_two_kinds_of_gpus_are_counted_apart(tmp_path):
    told = bandwidth()
    told["machine"]["gpus"] = ["NVIDIA H100", "NVIDIA A100", "NVIDIA H100"]
    assert record_of(written(tmp_path, RUN, told), tmp_path).machine == "2 x NVIDIA H100, 1 x NVIDIA A100"


def of_a_lab(many: int | str) -> dict[str, Any]:
    """As `python -m tools.labs ring` writes it. many: GPUs, or "8ranks"."""
    gpus = 0 if isinstance(many, str) else many
    on = machine() | {"gpus": ["NVIDIA H100 80GB HBM3"] * gpus}
    about = {"label": f"{gpus} ranks, nccl, {gpus} x H100" if gpus else "4 ranks, gloo, CPU", "date": "2026-11-23"}
    told = {
        "name": f"ring-{many}",
        "machine": on,
        "versions": {"python": "3.11.7", "torch": "2.13.0", "nccl": "2.28.9"},
    }
    return told | about | {"data": {"cells": 31, "seconds": 40.5}, "command": "python -m tools.labs ring"}


@pytest.mark.parametrize(
    ("gpus", "put", "value", "words"),
    [
        (8, at("name"), "ring-4", "name: expected the file's own name, 'ring-8', got 'ring-4'"),
        (8, at("machine", "gpus"), ["H100"] * 4, "name: expected a lab and its number of GPUs, 4, got 'ring-8'"),
        (3, at("date"), "2026-11-24", "machine.gpus: expected 0, 1, 2, 4, 8 GPUs, got 3"),
        (1, at("versions"), {"python": "3.11", "torch": "2.13.0"}, "versions: the field 'nccl' is missing"),
        (0, at("data", "user"), "ada", "data: no field is called 'user'"),
        (0, at("data", "seconds"), 0, "data.seconds: expected a number above 0, got 0"),
        ("8ranks", at("machine", "gpus"), ["H100"], "name: expected 2, 4, 8 ranks without a GPU, got 'ring-8ranks'"),
        ("3ranks", at("date"), "2026-11-24", "name: expected 2, 4, 8 ranks without a GPU, got 'ring-3ranks'"),
    ],
)
def test_a_damaged_run_of_a_lab_is_refused(tmp_path, gpus, put, value, words):
    for folder in ("labs", "from/8xh100/labs"):
        told, name = of_a_lab(gpus), f"{folder}/ring-{gpus}.json"
        assert gpus in (3, "3ranks") or whole(written(tmp_path, name, told), tmp_path) == told
        put(told, value)
        assert refusal(tmp_path, name, told).startswith(f"{name}: {words}")


def test_of_a_labs_runs_the_latest_counts_and_of_one_day_ours(tmp_path):
    ours, theirs = of_a_lab(8), of_a_lab(8)
    written(tmp_path, "labs/ring-8.json", ours)
    for day, folder in (("2026-11-22", "labs"), ("2026-11-23", "labs"), ("2026-11-24", "from/8xh100/labs")):
        theirs["date"] = day
        written(tmp_path, "from/8xh100/labs/ring-8.json", theirs)
        ((key, found),) = lab_runs(tmp_path).items()
        assert (key, found.path) == (("ring", 8), f"{folder}/ring-8.json")
        assert found.kind == "lab" and not found.on_cpu


PUBLISHED = "public/torch-8xh200-all_reduce.json"
TRACE = "trace-ring-cpu.json"
MEMORY = "memory/zero-1.json"
PREDICTED = "memory-predictions.json"
TIMELINE = "timeline-cpu.json"
OTHERS = [
    (TIMELINE, at("data", "ways"), [], "data.ways: expected an object with something in it, got []"),
    (TIMELINE, at("data", "ways", "naive"), {"a": 1}, "data.ways.naive: the field 'events' is missing"),
    (
        TIMELINE,
        at("data", "ways", "naive", "events", 3, "kind"),
        "rest",
        "events.3.kind: expected one of compute, idle, ",
    ),
    (TIMELINE, at("data", "ways", "naive", "events", 3, "end"), -1, "events.3.end: expected seconds from 0, got -1"),
    (TIMELINE, at("data", "ways", "naive", "events", 3, "rank"), 0.5, "events.3.rank: expected a whole number from 0"),
    (TIMELINE, at("data", "ways", "naive", "events", 3, "what"), None, "events.3.what: expected a text, got None"),
    (TIMELINE, at("data", "ways", "zero-3", "events", 3, "start"), 99.0, "events.3.start: expected from "),
    (PUBLISHED, at("source", "url"), "http://example.org", "source.url: expected an address that begins with https://"),
    (PUBLISHED, at("source", "checked"), "soon", "source.checked: expected a date"),
    (
        PUBLISHED,
        at("source", "title"),
        None,
        "a published table needs rows, a machine and a source; it lacks ['title']",
    ),
    (PUBLISHED, at("rows"), [], "rows: expected a list with something in it"),
    (PUBLISHED, at("rows", 4, "busbw"), -1.0, "rows.4.busbw: expected a number from 0, got -1.0"),
    (PUBLISHED, at("rows", 4, "nbytes"), 1.5, "rows.4.nbytes: expected a whole number from 1, got 1.5"),
    (
        PUBLISHED,
        at("rows", 4, "speed"),
        1,
        "rows.4: expected the columns of the first row, nbytes, seconds, algbw, busbw",
    ),
    (PUBLISHED, at("units"), {"nbytes": "bytes"}, "units: the column 'algbw' holds numbers and has no unit"),
    (TRACE, at("data", "schedule"), "all_reduce ring", "data.schedule: no schedule: "),
    (TRACE, at("data", "seconds"), None, "data.seconds: expected a number above 0, got None"),
    (TRACE, at("data", "messages", 1, "step"), 7, "data.messages.1.step: expected a step from 1 to 6, got 7"),
    (TRACE, at("data", "messages", 1, "step"), 0, "data.messages.1.step: expected a step from 1 to 6, got 0"),
    (TRACE, at("data", "messages", 1, "dst"), 3, "data.messages.1: expected a way of step 1 of the schedule, got "),
    (MEMORY, at("data", "ranks", 0, "blocks"), [5], "data.ranks.0: no trace of memory: "),
    (MEMORY, at("data", "ranks"), None, "data.ranks: expected a list with something in it, got None"),
    (PREDICTED, at("rows", 0, 4), 12, "rows.0.peak: expected the sum of by_class, "),
    (PREDICTED, at("rows", 0), [1], "rows.0: expected a value for each of 9 columns, got [1]"),
]


@pytest.mark.parametrize(("name", "put", "value", "words"), OTHERS, ids=[words[:40] for *_, words in OTHERS])
def test_every_kind_is_refused_with_the_place(tmp_path, name, put, value, words):
    told = copied(name)
    put(told, value)
    said = refusal(tmp_path, name, told)
    assert said.startswith(f"{name}: ") and words in said


@pytest.mark.parametrize(
    ("put", "value", "words"),
    [
        (at("distributedInfo", "rank"), 1, "distributedInfo.rank: expected the rank of its name, 'sound-0', got 1"),
        (at("recorded", "date"), "today", "recorded.date: expected a date"),
        (at("recorded", "what"), "", "recorded.what: expected a text"),
        (at("host_name"), "vm", "names a host or a folder"),
        (at("traceEvents", 3, "dur"), -1, "no trace: event 3: dur is -1"),
        (
            at("traceEvents"),
            [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 1, "dur": 1, "pid": 1, "tid": 1}],
            "no step of the profiler",
        ),
    ],
)
def test_a_trace_is_refused_with_the_place(tmp_path, put, value, words):
    name = "traces/sound-0.json.gz"
    told = json.loads(gzip.decompress((FOLDER / name).read_bytes()))
    put(told, value)
    path = tmp_path / name
    path.parent.mkdir()
    path.write_bytes(gzip.compress(json.dumps(told).encode()))
    with pytest.raises(RecordError) as said:
        whole(path, tmp_path)
    assert str(said.value).startswith(f"{name}: ") and words in str(said.value)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordError, match="packed by gzip and ends too early"):
        whole(path, tmp_path)


def test_a_readers_memory_is_held_to_what_memory_is(tmp_path):
    name, told = "from/8xh100/memory/zero-1.json", copied(MEMORY)
    assert whole(written(tmp_path, name, told), tmp_path) == told
    told["data"]["ranks"][0]["blocks"] = [5]
    assert "data.ranks.0: no trace of memory: " in refusal(tmp_path, name, told)


TEXTS = [
    ("run.json", "{", "run.json: no JSON: line 1, column 2: Expecting property name"),
    ("run.json", '{"name": "a", "name": "b"}', "run.json: name: comes twice"),
    ("run.json", '{"name": NaN}', "run.json: NaN: is no number of JSON"),
    ("run.json", "[" * 100_000, "run.json: "),
    ("elsewhere/run.json", "{}", "a folder of recorded/ is one of public, labs, torches, memory, from, traces"),
]


@pytest.mark.parametrize(("name", "text", "words"), TEXTS, ids=[words[:40] for *_, words in TEXTS])
def test_what_cannot_be_read_is_refused(tmp_path, name, text, words):
    assert words in refusal(tmp_path, name, text)
    binary = tmp_path / "run.json"
    binary.write_bytes(b'{"name": "\xff"}')
    with pytest.raises(RecordError, match="no text in UTF-8 from byte 10 on"):
        whole(binary, tmp_path)


@pytest.mark.parametrize("name", [RUN, PUBLISHED, TRACE, PREDICTED, TIMELINE])
def test_a_field_that_is_taken_out_or_changed_at_random_never_crashes(tmp_path, name):
    """Whole, or a RecordError that names the file: no other error."""
    rng, refused = random.Random(14), 0
    for _ in range(100):
        told = bandwidth() if name == RUN else copied(name)
        box = told
        while isinstance(box, (dict, list)) and box and rng.random() < 0.8:
            key = rng.choice(list(box)) if isinstance(box, dict) else rng.randrange(len(box))
            inner = box[key]
            if not isinstance(inner, (dict, list)) or rng.random() < 0.4:
                box[key] = rng.choice([None, -1, "x", [], {}, True, {"a": 1}, [[1]]])
                break
            box = inner
        try:
            whole(written(tmp_path, name, told), tmp_path)
        except RecordError as error:
            refused += str(error).startswith(f"{name}: ")
    assert refused > 25


def test_the_command_says_how_many_are_whole(monkeypatch, capsys):
    from helpers.records.__main__ import files

    assert list(files([])) == FILES, "without names all of them"
    monkeypatch.setattr(sys, "argv", ["helpers.records", str(FOLDER / "memory")])
    with pytest.warns(RuntimeWarning, match="found in sys.modules"), pytest.raises(SystemExit) as ended:
        runpy.run_module("helpers.records", run_name="__main__")
    count = sum(path.parent == FOLDER / "memory" for path in FILES)
    assert (ended.value.code, capsys.readouterr().out) == (0, f"{count} recorded files are whole\n")


def test_the_command_refuses_what_lies_elsewhere(tmp_path, capsys, monkeypatch):
    from helpers.records import __main__ as command

    assert command.main([str(written(tmp_path, "run.json", "{}"))]) == 1
    assert "recorded runs lie in recorded/; those of readers in recorded/from/NAME/" in capsys.readouterr().err
    assert command.main([str(tmp_path / "nothing")]) == 1
    assert "no such file" in capsys.readouterr().err
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    told = bandwidth()
    told["data"]["all_reduce"][3]["busbw"] = 3.56e11
    written(tmp_path, RUN, told)
    (tmp_path / "run.json").unlink()
    assert command.main([str(tmp_path / "from")]) == 1
    assert capsys.readouterr().err.startswith(f"{RUN}: data.all_reduce.3.busbw: expected ")
    written(tmp_path, RUN, bandwidth())
    assert command.main([str(tmp_path / "from")]) == 0
    assert capsys.readouterr().out == "1 recorded files are whole\n"


def test_the_page_says_how_far_repeats_lie_apart():
    """Most within two per cent, one of H200's all_to_all by a factor of four."""
    cells = {
        (run.key, size): cell[-1] / cell[0]
        for run in published()
        if run.table == TIMINGS
        for size, cell in zip(run.sizes, run.times, strict=True)
        if len(cell) > 1
    }
    assert median(cells.values()) < 1.02
    widest = max(cells, key=lambda cell: cells[cell])
    assert widest == ("H200.all_to_all.4.half.2.29.2.in-2.26.2", 512) and 4 < cells[widest] < 4.5
