"""What `bench` can do beside a table: sweeps by words, JSON, a step's payloads, several hosts."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import psutil
import pytest
import replaying
import torchruns

from helpers.ranks import __main__ as module
from helpers.ranks.command import hosts, sweeps, tables
from helpers.ranks.command.options import parser
from helpers.ranks.machine import gpus
from helpers.ranks.sweeping import places, processes
from helpers.ranks.sweeping import sweep as sweeping
from helpers.ranks.timing.columns import Line, Side
from helpers.ranks.timing.timing import Timing


@pytest.fixture
def two_gpus(monkeypatch):
    """Two GPUs, as far as anybody asks, and ranks that replay a real log."""
    found = gpus.Gpus(tuple(gpus.Gpu("NVIDIA H100", f"GPU-{i}") for i in range(2)))
    monkeypatch.setattr(places, "find_gpus", lambda: found)
    monkeypatch.setattr("helpers.ranks.machine.devices.find_gpus", lambda: found)
    monkeypatch.setattr(sweeping.sharing, "nccl_version", lambda: (2, 29, 7))
    made = type("Made", (replaying.Replayed,), {"started": []})
    monkeypatch.setattr(sweeping, "Ranks", made)
    return made


def test_a_sweep_by_words(two_gpus, capsys):
    words = ("bench", "--sweep", "algo=Tree,NVLS", "proto=LL", "-b", "1K", "-e", "4K")
    assert module.main([*words]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^(\S+) +(\d+) +(\S+) +(\S+)", out, re.M)[:2] == [
        ("Tree/LL", "1024", "Tree/LL", "yes"),
        ("Tree/LL", "4096", "Tree/LL", "yes"),
    ]
    assert "# NVLS/LL: impossible" in out and "# combinations: 1 ran, 1 impossible" in out
    assert module.main([*words, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert [case["outcome"] for case in told["cases"]] == ["ran", "impossible"]


def test_a_setting_without_effect_is_an_exit_code(two_gpus, capsys):
    assert module.main(["bench", "--sweep", "algo=Ring", "-e", "1K"]) == 1
    assert re.search(r"^Ring/auto +1024 +Tree/LL +NO ", capsys.readouterr().out, re.M)


class Found:
    """What a sweep has found, as far as a command looks."""

    def __init__(self, wrong: int = 0):
        self.wrong, self.failed = wrong, bool(wrong)


@pytest.mark.parametrize(
    ("name", "words"), [("sweep", ["--sweep", "proto=LL", "--one-gpu"]), ("one_or_many", ["--one-process"])]
)
def test_what_is_asked_reaches_what_measures(monkeypatch, capsys, name, words):
    """And one collective of two that is wrong is an exit code."""
    asked = []
    found = iter((Found(), Found(wrong=1)))
    monkeypatch.setattr(sweeps, name, lambda collective, **told: asked.append((collective, told)) or next(found))
    options = ["-b", "2K", "-e", "4K", "-f", "2", "-n", "3", "-w", "1", "-i", "7", "--timeout", "9"]
    assert module.main(["bench", "all_gather", "all_reduce", *options, *words]) == 1
    assert [collective for collective, _ in asked] == ["all_gather", "all_reduce"]
    wanted = {"begin": 2048, "end": 4096, "factor": 2, "nranks": 3, "warmup": 1, "iters": 7, "timeout": 9.0}
    wanted |= {"proto": ("LL",), "one_gpu": True} if name == "sweep" else {}
    assert all(told == wanted for _, told in asked)


def test_bench_as_json_has_every_row(two, capsys):
    words = ["bench", "all_reduce", "all_gather", "-b", "512", "-e", "2K", "-i", "2", "-w", "0", "--json"]
    asked = parser(module.__doc__).parse_args(words)
    assert tables.run(asked, lambda fn, *args: two.run(fn, *args)[0], 2, two.label, print) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["label"], told["nranks"], told["direction"]) == ("2 ranks, gloo, CPU", 2, "one way")
    assert [test["collective"] for test in told["tests"]] == ["all_reduce", "all_gather"]
    reduce, gather = (test["rows"] for test in told["tests"])
    assert [row["nbytes"] for row in reduce] == [512, 2048] and not any(row["wrong"] for row in reduce + gather)
    assert all(row["busbw"] == pytest.approx(row["nbytes"] / row["seconds"]) for row in reduce), "2(n-1)/n is 1"
    assert reduce[0]["out_of_place"] is None and reduce[0]["in_place"]["reps"] == 2
    assert gather[0]["out_of_place"]["min"] == gather[0]["seconds"] and gather[0]["in_place"]


def test_the_payloads_of_a_model(capsys):
    assert module.main(["bench", "--payload", "llama-3-8b", "--tokens", "4096", "--batch", "2"]) == 0
    out = capsys.readouterr().out
    assert "one training step of Llama-3-8B sends" in out
    assert re.search(r"^tensor parallel .* all_reduce +67108864 +64 MiB +128$", out, re.M), out
    assert module.main(["bench", "--payload", "GPT-2", "--json"]) == 0
    assert {"by", "what", "collective", "nbytes", "times"} == set(json.loads(capsys.readouterr().out)[0])


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--sweep", "speed=4"], "--sweep takes algo=A,B, proto=A,B, channels=A,B, got 'speed=4'"),
        (["--sweep", "proto"], "got 'proto'"),
        (["--sweep", "proto="], "got 'proto='"),
        (["--sweep", "proto=LL", "proto=Simple"], "takes proto once, with commas: got 'proto=Simple' again"),
        (["all_reduce", "all_to_all", "--sweep", "proto=LL"], "a sweep takes all_reduce, .*, got 'all_to_all'"),
        (["--sweep", "proto=LL", "--one-process"], "one at a time, got --sweep and --one-process"),
        (["--sweep", "proto=LL", "-a", "ring"], "--sweep is of NCCL's own algorithms: leave -a ring out"),
        (["--sweep", "proto=LL", "-r", "1"], "--sweep has rank 0 as its root: leave -r 1 out"),
        (["--sweep", "proto=LL"], "a sweep needs NVIDIA GPUs"),
        (["--one-process"], "one process for all GPUs needs NVIDIA GPUs"),
        (["broadcast", "--one-process"], "one process for all GPUs does all_reduce, .*, got 'broadcast'"),
        (["--one-gpu"], "--one-gpu goes with --sweep"),
        (["--print"], "--print goes with --hosts"),
        (["--per-host", "4"], "--per-host goes with --hosts"),
        (["--port", "29501"], "--port goes with --hosts"),
        (["--batch", "2"], "--batch goes with --payload"),
        (["--payload", "GPT-9"], "no model 'GPT-9': there is GPT-2, "),
        (["--hosts", "a,,b"], "hosts look like node1,node2 .*, got '' in 'a,,b'"),
        (["--hosts", "a,-oProxyCommand=x"], "hosts look like"),
        (["--hosts", "a,a"], "each host once, got 'a,a'"),
        (["--hosts", "a,b", "--port", "65536"], r"a port lies in 1\.\.65535, got 65536"),
        (["--hosts", "a,b", "-n", "4"], "with --hosts say --per-host"),
        (["--hosts", "a", "--per-host", "1"], "a collective takes at least 2 ranks, these are 1"),
        (["--hosts", "a,b", "-b", "8"], "at least 64 B"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_starts(monkeypatch, capsys, arguments, said):
    monkeypatch.setattr(places, "find_gpus", gpus.Gpus)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("something was started"))
    assert module.main(["bench", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and re.search(said, err), err


def test_inside_a_job_nothing_of_its_own_is_started(monkeypatch, capsys):
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert module.main(["bench", "--sweep", "proto=LL"]) == 2
    assert "run it alone, this is rank 0 of 2, started by torchrun" in capsys.readouterr().err


def test_a_line_a_host(monkeypatch, capsys):
    monkeypatch.setenv("NCCL_IB_HCA", "mlx5_0 mlx5_1")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth0")
    arguments = ["bench", "all_gather", "--hosts", "me@node1,node2", "--per-host", "4", "-e", "1M", "-i", "3"]
    arguments += ["--json", "--print"]
    assert module.main(arguments) == 0
    name, first, other, second = capsys.readouterr().out.splitlines()
    assert (name, other) == ("# me@node1", "# node2")
    assert "NCCL_IB_HCA='mlx5_0 mlx5_1' " in first and "--master-addr node1 --master-port 29500" in first
    assert first.replace("--node-rank 0", "--node-rank 1") == second
    assert first.startswith(f"cd {shlex.quote(str(Path.cwd()))} && ")
    assert "--nnodes 2 --node-rank 0 --nproc-per-node 4" in first
    assert first.endswith(
        "-m helpers.ranks bench all_gather -b 1024 -e 1048576 -f 4 -w 2 -r 0 -i 3 --timeout 10.0 --json"
    )
    assert "GLOO_SOCKET_IFNAME=eth0 " in first
    assert module.main(["bench", "--hosts", "a", "--print"]) == 0
    assert "--nproc-per-node 8 " in capsys.readouterr().out


@pytest.fixture
def ssh(tmp_path, monkeypatch):
    """An ssh that runs its command here, whatever the host."""
    path = tmp_path / "ssh"
    path.write_text('#!/bin/sh\nshift 3\nexec sh -c "$1"\n')
    path.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_when_one_host_fails_the_others_end(ssh, tmp_path, capfd):
    stays = f"cd {tmp_path} && env sh -c 'echo $$ > pid; exec sleep 60'"
    fails = f"cd {tmp_path} && env sh -c 'until test -s pid; do sleep 0.05; done; exit 3'"
    assert hosts.run(["a", "b"], [stays, fails]) == 1
    assert "helpers.ranks: b has ended with code 3" in capfd.readouterr().err
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text())), "the other host's job is gone"


def test_an_ssh_that_a_signal_ends_has_failed(ssh, tmp_path, capfd):
    (tmp_path / "ssh").write_text("#!/bin/sh\nkill -9 $$\n")
    assert hosts.run(["a"], ["cd / && env true"]) == 1
    assert "a has ended with code -9" in capfd.readouterr().err


def test_the_first_hosts_words_are_the_table(ssh, capfd):
    assert hosts.run(["a", "b"], ["cd / && env echo done", "cd / && env true"]) == 0
    assert capfd.readouterr() == ("done\n", "")


@pytest.mark.matrix(
    "two hosts by ssh: what torchrun does with two nodes, and what ssh does with a line, are tested apart"
)
def test_two_hosts(ssh, capfd):
    port, arguments = (
        torchruns.free_port(),
        ["bench", "-b", "1024", "-e", "1024", "-i", "2", "-w", "0", "--timeout", "30"],
    )
    lines = hosts.lines(["localhost", "127.0.0.1"], 1, port, arguments, {"GLOO_SOCKET_IFNAME": "lo"})
    assert hosts.run(["localhost", "127.0.0.1"], lines) == 0
    out = capfd.readouterr().out
    assert "# all_reduce by torch on 2 ranks on 2 nodes, gloo, CPU" in out and "# Out of bounds values : 0 OK" in out


def test_a_bench_tells_how_far_it_is_of_all_collectives(monkeypatch):
    told: list[tuple[int, str]] = []
    monkeypatch.setattr(tables.Count, "at", lambda self, i, what: told.append((i, what)))
    options = parser(module.__doc__).parse_args(["bench", "all_reduce", "all_gather", "-e", "2K", "-f", "2"])
    line = Line("all_reduce", 1024, 2, None, None, Side(Timing(1e-6, 1e-6, 1), 0))
    assert tables.run(options, lambda *_: line, 2, "here", print) == 0
    said = [f"{name} of {nbytes} B" for name in ("all_reduce", "all_gather") for nbytes in (1024, 2048)]
    assert told == list(enumerate(said))


def test_words_of_a_sweep():
    assert sweeps.settings(["proto=LL,Simple", "channels=4,auto"]) == {
        "proto": ("LL", "Simple"),
        "channels": ("4", "auto"),
    }


def test_one_process_or_many_prints_and_becomes_json():
    line = processes.Compared(1 << 20, processes.Times(2e-5, 5e-5), processes.Times(2e-5, 1e-4), 0)
    found = processes.OneOrMany("all_reduce", 4, "4 ranks, nccl", (line,))
    assert str(found).splitlines()[-1].split() == [
        "1048576",
        "20.00",
        "50.00",
        "31.46",
        "20.00",
        "100.00",
        "15.73",
        "0",
    ]
    assert json.loads(json.dumps(found.as_json()))["rows"][0]["many"] == {"gpu": 2e-5, "host": 1e-4}
