"""A whole run in one file: unpacked as it was, or refused before anything is written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from test_records import bandwidth, written

from helpers.records import RecordError, record_of, records
from helpers.records import __main__ as command
from helpers.records.packed import MOST, pack, unpack

CHECK = {**bandwidth(), "name": "gpu-check", "data": {"ladder": {"outcome": "passed", "seconds": 1.5}}}
HOME = "/".join(["", "home", "ada", "x.py"])


def packed(folder: Path, told: object, name: str = "run-8xh100.json.gz") -> Path:
    path = folder / name
    path.write_bytes(told if isinstance(told, bytes) else gzip.compress(json.dumps(told).encode()))
    return path


def test_a_run_is_packed_and_unpacked_by_the_command(tmp_path, monkeypatch, capsys):
    """The file that gpu-check leaves beside its records is no record of its own."""
    sent, folder = tmp_path / "sent", tmp_path / "recorded"
    paths = [written(sent, f"{one['name']}.json", json.dumps(one, indent=1) + "\n") for one in (CHECK, bandwidth())]
    run = pack(paths, sent, "8xh100")
    assert [one.path for one in records(sent)] == ["gpu-bandwidth.json", "gpu-check.json"]
    monkeypatch.setattr(command, "FOLDER", folder)
    assert command.main(["--unpack", str(run)]) == 0
    assert capsys.readouterr().out == "2 recorded files are whole in recorded/from/8xh100\n"
    there = folder / "from" / "8xh100"
    assert {path.name: path.read_text() for path in there.iterdir()} == {path.name: path.read_text() for path in paths}
    assert {record_of(path, folder).kind for path in there.iterdir()} == {"reader"}
    assert command.main(["--unpack", str(run)]) == 1
    assert "recorded/from/8xh100 is there: give this run another name, --name 8xh100-2" in capsys.readouterr().err
    assert command.main(["--unpack", str(run), "--name", "8xh100-2"]) == 0 and (folder / "from" / "8xh100-2").is_dir()


def run(**records: object) -> dict:
    return {"records": {"gpu-check": CHECK} | records}


BAD = [
    (run(**{"../gpu-x": CHECK}), "no record is called '../gpu-x'"),
    (run(**{"memory/../../gpu-x": CHECK}), "no record is called"),
    (run(evil=CHECK), "no record is called 'evil'"),
    (run(**{"gpu-bandwidth": CHECK}), "name: expected the file's own name, 'gpu-bandwidth', got 'gpu-check'"),
    (run(**{"gpu-check": {**CHECK, "label": HOME}}), f"names a folder of somebody's machine: {HOME}"),
    (run(**{"gpu-check": {**CHECK, "label": "2 ranks at 10.1.2.3"}}), "names an address: 10.1.2.3"),
    (
        run(**{"gpu-check": {**CHECK, "label": "GPU-8a5a00c4-e652-529b-7ba9-ba6bec39a678"}}),
        "names one device: GPU-8a5a00c4-e652-529b-7ba9-ba6bec39a678",
    ),
    ({"records": {}}, "no run of gpu-check: expected an object with 'records', and 'gpu-check' among them"),
    ([1], "no run of gpu-check"),
    (
        gzip.compress(b"[" * 100_000),
        "a run of gpu-check, and damaged: it is nested 100000 levels deep, expected at most 200",
    ),
    (gzip.compress(b"{"), "a run of gpu-check, and damaged: no JSON"),
    (gzip.compress(b"\xff"), "run-8xh100.json.gz: no text in UTF-8"),
    (gzip.compress(b" " * (MOST + 1)), f"has at most {MOST} letters"),
    (gzip.compress(b" " * 2**28), f"has at most {MOST} letters, and this text {MOST + 1}"),
    (gzip.compress(b"{}")[:-6], "run-8xh100.json.gz: packed by gzip and ends too early"),
    (b"{}", "run-8xh100.json.gz: packed by gzip and damaged"),
]


@pytest.mark.parametrize(("told", "words"), BAD, ids=[words[:40] for _, words in BAD])
def test_what_is_no_sound_run_is_refused_and_nothing_is_written(tmp_path, told, words):
    with pytest.raises(RecordError) as said:
        unpack(packed(tmp_path, told), folder=tmp_path)
    assert words in str(said.value)
    assert [path.name for path in tmp_path.iterdir()] == ["run-8xh100.json.gz"]


@pytest.mark.parametrize(
    ("name", "asked", "words"),
    [
        ("mine.gz", None, "mine.gz: expected a name like run-8xh100.json.gz, or --name 8xh100 beside it"),
        (
            "run-8xh100.json.gz",
            "../8xh100",
            "--name: expected small letters, digits and hyphens, as in 8xh100, got '../8xh100'",
        ),
    ],
)
def test_a_folder_has_a_plain_name(tmp_path, name, asked, words):
    with pytest.raises(RecordError) as said:
        unpack(packed(tmp_path, run(), name), asked, tmp_path)
    assert str(said.value) == words
