"""The installer's decisions: which torch, which Python, when to do nothing; and that a long step shows it is alive."""

import argparse
import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tools import browser, install, lab, others, pins, progress, pythons, swap, torch_build
from tools.torch_build import NoBuild, plan


def linux(driver=None, installed=None, choice="auto"):
    return plan("Linux", "x86_64", driver, installed, choice)


@pytest.mark.parametrize(
    ("driver", "requirement", "tags"),
    [
        (None, "torch==2.13.0+cpu", ("", "cpu")),
        ("525.60.13", "torch==2.13.0+cu129", ("cu129",)),
        ("550.144.03", "torch==2.13.0+cu129", ("cu129",)),
        ("570.124.06", "torch==2.13.0+cu129", ("cu129",)),
        ("579.99", "torch==2.13.0+cu129", ("cu129",)),
        ("580.65.06", "torch===2.13.0", ("",)),
        ("595.71.05", "torch===2.13.0", ("",)),
    ],
)
def test_the_driver_decides_the_build(driver, requirement, tags):
    build = linux(driver)
    assert (build.requirement, build.tags) == (requirement, tags)
    assert (driver or "no NVIDIA driver") in build.why


def test_a_driver_that_is_too_old_is_said_with_reason_and_remedy():
    with pytest.raises(NoBuild, match=r"driver is 470\.256\.02.*525 or newer.*TORCH=cpu"):
        linux("470.256.02")
    assert linux("470.256.02", choice="cpu").requirement == "torch==2.13.0+cpu"


@pytest.mark.parametrize("choice", ["cu126", "cu129"])
def test_a_named_build_is_taken_whatever_the_driver(choice):
    assert linux("580.1", choice=choice).requirement == f"torch==2.13.0+{choice}"
    assert linux("580.1", choice="cu130").requirement == "torch===2.13.0"


@pytest.mark.parametrize("version", ["2.11.0", "2.12.1+cu126", "2.13.0a0+gitabc", "2.15.0", "2.15.0+rocm7.2"])
def test_keep_takes_the_torch_that_is_there(version):
    build = linux("570.1", version, "keep")
    assert (build.requirement, build.tags, build.note) == ("", (), "") and version in build.why


def test_where_its_wheel_is_not_to_be_had_the_oldest_torch_is_left_out_in_words(monkeypatch, tmp_path, capsys):
    def make(*_):
        raise progress.CommandFailed(["pip"], 1, ["WARNING: a", "ERROR: no such wheel", "b"])

    monkeypatch.setattr(others, "HOME", tmp_path)
    monkeypatch.setattr(others, "make", make)
    others.oldest_torch("https://nowhere")
    said = "ERROR: no such wheel\ntorch 2.11 could not be installed; its tests are skipped and counted\n"
    assert capsys.readouterr().out == said


@pytest.mark.parametrize("version", ["2.16.0", "2.16.0a0+deadbeef.nv26.12", "3.0.0"])
def test_keep_takes_a_newer_torch_with_a_warning(version):
    build = linux("570.1", version, "keep")
    assert (build.requirement, build.tags) == ("", ()) and f"{version} is newer than 2.15" in build.note


@pytest.mark.parametrize("version", ["1.13.1", "2.9.1", "2.10.0+cu128"])
def test_keep_refuses_a_torch_on_which_the_course_does_not_run(version):
    with pytest.raises(NoBuild, match=rf"{re.escape(version)}.*2\.11 or newer.*Drop TORCH"):
        linux("570.1", version, "keep")


def test_keep_without_a_torch_and_an_unknown_word_are_refused():
    with pytest.raises(NoBuild, match=r"no Python on PATH has torch"):
        linux(installed=None, choice="keep")
    with pytest.raises(NoBuild, match=r"TORCH=gpu is not known; expected one of auto, keep, cpu"):
        linux(choice="gpu")


def test_macs_and_windows():
    assert plan("Darwin", "arm64", None, None).requirement == "torch===2.13.0"
    with pytest.raises(NoBuild, match="Mac with x86_64"):
        plan("Darwin", "x86_64", None, None)
    with pytest.raises(NoBuild, match="CUDA does not run on a Mac"):
        plan("Darwin", "arm64", None, None, "cu129")
    with pytest.raises(NoBuild, match="WSL"):
        plan("Windows", "AMD64", "581.1", None)


def test_the_pin_and_the_builds_name_one_version(root):
    assert f"torch=={torch_build.VERSION} " in (root / "requirements.txt").read_text()


def python(version, venv=True, torch=None, candidate=""):
    path = f"/usr/bin/python{version[0]}.{version[1]}"
    return pythons.Python(path, version, venv, torch, "/usr/lib" if torch else None, candidate)


def found(monkeypatch, **by_name):
    by_name = {name.replace("_", "."): value for name, value in by_name.items()}
    monkeypatch.setattr(pythons, "probe", by_name.get)


def test_3_11_is_preferred_and_a_torch_is_preferred_to_keep_it(monkeypatch):
    found(monkeypatch, python3=python((3, 13, 0), torch="2.12.0"), python3_11=python((3, 11, 7)))
    assert pythons.find().version == (3, 11, 7)
    assert pythons.find(with_torch=True).version == (3, 13, 0)
    assert pythons.find("python3").version == (3, 13, 0)


def test_a_python_without_venv_or_of_no_finished_release_is_passed_over(monkeypatch):
    other = python((3, 12, 1))
    for unfit in (python((3, 11, 2), venv=False), python((3, 11, 0), candidate="3.11.0rc1")):
        found(monkeypatch, python3_11=unfit, python3_12=other)
        assert pythons.find() is other


def test_a_torch_that_cannot_be_kept_is_named(monkeypatch):
    found(monkeypatch, python3=python((3, 10, 12), torch="2.12.0"), python3_11=python((3, 11, 7)))
    assert pythons.find().release == "3.11"
    with pytest.raises(pythons.NoPython, match=r"torch 2\.12\.0 that is here is one of Python 3\.10;.*Drop TORCH"):
        pythons.find(with_torch=True)


def test_this_python_is_seen_as_it_is():
    seen = pythons.probe(sys.executable)
    assert seen.version == sys.version_info[:3] and seen.venv
    assert pythons.probe("no-such-python") is None


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A small repository with a space in its name, its .venv real and its pip only noted."""
    here = tmp_path / "a house"
    here.mkdir()
    (here / "requirements.txt").write_text("# why\ntorch==2.13.0  # ranks\nnumpy==2.4.6\n-e .\n")
    (here / "requirements-dev.txt").write_text("-r requirements.txt\npytest==9.2.0\n")
    (here / "requirements-jax.txt").write_text("jax==0.10.2  # shardings\n")
    (here / "pyproject.toml").write_text("")
    (here / "constraints.txt").write_text("")
    monkeypatch.setattr(install, "ROOT", here)
    monkeypatch.setattr(install, "VENV", here / ".venv")
    monkeypatch.setattr(install, "STAMP", here / ".venv" / "installed.json")
    monkeypatch.setattr(install.driver, "version", lambda: None)
    bare = [sys.executable, "-m", "venv", "--without-pip", "--clear", str(here / ".venv")]
    monkeypatch.setattr(
        install, "make_venv", lambda python, keep: (subprocess.run(bare, check=True), calls.append("venv"))
    )
    monkeypatch.setattr(
        install,
        "pip",
        lambda title, arguments: calls.append(
            [each for each in arguments if "==" in each] if title != "torch" else "torch"
        ),
    )
    calls: list = []
    return here, calls


def asked(level="read", torch="auto", python=sys.executable):
    return argparse.Namespace(level=level, python=python, torch=torch, torch_index="INDEX", pins="exact")


def test_a_second_run_does_nothing_and_a_changed_pin_upgrades_in_place(house):
    here, calls = house
    install.install(asked())
    assert calls == ["venv", "torch", ["torch==2.13.0", "numpy==2.4.6"]]
    install.install(asked())
    assert len(calls) == 3
    (here / "requirements.txt").write_text("torch==2.13.0\nnumpy==2.4.7\n")
    (fresh := next(here.glob(".venv/lib/python3*/site-packages")) / "fresh.py").write_text("")
    install.install(asked())
    assert list(fresh.parent.glob("__pycache__/fresh.*.pyc")), "pip compiles nothing, so we do"
    assert calls[3:] == ["torch", ["torch==2.13.0", "numpy==2.4.7"]]


def test_a_choice_of_torch_and_python_holds_until_another_is_made(house):
    """`make lab TORCH=keep`, and a day later `make notebooks`: not gigabytes of another torch."""
    _, calls = house
    install.install(asked(torch="cpu"))
    install.install(asked(torch="", python=""))
    assert calls.count("venv") == 1 and install.read_stamp()["settings"]["torch"] == "cpu"
    install.install(asked(torch="auto", python=""))
    assert calls.count("venv") == 2
    assert (
        install.read_stamp()["settings"] | {"torch": "auto", "python": sys.executable}
        == install.read_stamp()["settings"]
    )


def test_what_does_not_fit_on_the_disk_is_refused_before_it_is_downloaded(house, monkeypatch, capsys):
    here, calls = house
    monkeypatch.setattr(install, "free_gb", lambda folder: 1.3)
    monkeypatch.setattr(sys, "argv", ["install", "--python", sys.executable])
    assert install.main() == 1 and calls == [] and not install.VENV.exists()
    assert (
        f"it takes about 2 GB, and 1.3 are free in {here}; move it to a larger disk (df -h)" in capsys.readouterr().err
    )


def test_the_tests_need_more_than_the_book_and_cover_it(house):
    _, calls = house
    install.install(asked())
    install.install(asked("test"))
    assert calls[-1] == ["torch==2.13.0", "numpy==2.4.6", "pytest==9.2.0"] and calls.count("venv") == 1
    before = len(calls)
    install.install(asked())
    assert len(calls) == before


def test_only_test_all_installs_jax_and_then_all_else_is_there(house, root):
    _, calls = house
    install.install(asked("test"))
    assert not any("jax" in pin for pin in calls[-1])
    install.install(asked("all"))
    assert calls[-1] == ["torch==2.13.0", "numpy==2.4.6", "pytest==9.2.0", "jax==0.10.2"] and calls.count("venv") == 1
    before = len(calls)
    for level in install.FILES:
        install.install(asked(level))
    assert len(calls) == before
    wanted = {word: make(root, "-n", word).stdout for word in ("book", "test", "test-all")}
    assert [word for word, does in wanted.items() if "--for all" in does] == ["test-all"]


def interrupted(title, arguments):
    raise KeyboardInterrupt


def test_another_torch_starts_afresh_and_an_interrupted_install_goes_on_from_what_was_there(house, monkeypatch):
    here, calls = house
    install.install(asked())
    install.install(asked(torch="cu129"))
    assert calls.count("venv") == 2
    (here / "requirements.txt").write_text("torch==2.13.0\n")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(install, "pip", interrupted)
        install.install(asked(torch="cu129"))
    install.install(asked(torch="cu129"))
    assert calls.count("venv") == 2 and calls[-1] == ["torch==2.13.0"]


def offline(title, arguments):
    """pip, which has replaced one package when it finds that it cannot get the next."""
    package = installed()
    package.unlink(missing_ok=True)
    package.write_text("new")
    raise progress.CommandFailed(["pip"], 1, ["no network"])


def killed(title, arguments):
    installed().unlink(missing_ok=True)
    os._exit(9)


def installed() -> Path:
    """A module of the environment that the installer makes."""
    return next(install.VENV.glob("lib/python3*/site-packages")) / "package.py"


def new_pins(here, monkeypatch):
    (here / "requirements.txt").write_text("torch==2.13.0\nnumpy==2.4.7\n")


def new_driver(here, monkeypatch):
    monkeypatch.setattr(install.driver, "version", lambda: "580.1")


@pytest.mark.parametrize("change", [new_pins, new_driver])
@pytest.mark.parametrize("how", [offline, killed])
def test_an_install_that_fails_or_is_killed_leaves_the_environment_as_it_was(house, monkeypatch, capsys, change, how):
    here, _ = house
    install.install(asked())
    installed().write_text("old")
    before = install.read_stamp(), sorted(here.iterdir())
    change(here, monkeypatch)
    monkeypatch.setattr(sys, "argv", ["install", "--python", sys.executable])
    if how is killed:
        monkeypatch.setattr(install, "pip", killed)
        if os.fork() == 0:
            install.main()
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 9
    monkeypatch.setattr(install, "pip", offline)
    assert install.main() == 1
    told = capsys.readouterr()
    assert "The install stopped: exit status 1 of: pip. .venv is what it was before." in told.err
    assert "The same make command tries again" in told.err
    assert ("The last install did not finish" in told.out) == (how is killed)
    assert (install.read_stamp(), sorted(here.iterdir())) == before
    assert installed().read_text() == "old" and install.python_runs(install.read_stamp())


def test_an_install_that_was_cut_off_when_all_was_there_is_whole(house):
    here, calls = house
    install.install(asked())
    (here / ".venv-before").mkdir()
    install.install(asked())
    assert calls.count("venv") == 1 and not (here / ".venv-before").exists()


def test_a_second_install_waits_for_the_first(house, monkeypatch):
    here, _ = house
    waits = threading.Event()
    monkeypatch.setattr(swap, "print", lambda *said, **_: "waiting for it" in said[0] and waits.set(), raising=False)
    second = threading.Thread(target=install.install, args=(asked(),))
    with swap.alone(here):
        second.start()
        assert waits.wait(60) and not (here / ".venv").exists()
    second.join()
    assert install.read_stamp()


def test_a_full_disk_is_said_with_what_helps_and_leaves_nothing(house, monkeypatch, capsys):
    here, _ = house
    install.install(asked())
    before = sorted(here.iterdir())
    new_pins(here, monkeypatch)

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(swap, "_linked", full)
    monkeypatch.setattr(sys, "argv", ["install", "--python", sys.executable])
    assert install.main() == 1
    stopped = "The install stopped: [Errno 28] No space left on device. .venv is what it was before.\n"
    said, _, remedy = capsys.readouterr().err.partition(stopped)
    assert said == "" and "pip cache purge" in remedy and "TMPDIR=" in remedy and sorted(here.iterdir()) == before


def told_to_end(title, arguments):
    installed().unlink()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def test_an_install_that_is_told_to_end_puts_back_what_was_there(house, monkeypatch):
    here, _ = house
    install.install(asked())
    installed().write_text("old")
    before = install.read_stamp(), sorted(here.iterdir())
    new_pins(here, monkeypatch)
    monkeypatch.setattr(install, "pip", told_to_end)
    monkeypatch.setattr(sys, "argv", ["install", "--python", sys.executable])
    if os.fork() == 0:
        try:
            install.main()
        except SystemExit as end:
            os._exit(end.code)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 128 + signal.SIGTERM
    assert (install.read_stamp(), sorted(here.iterdir()), installed().read_text()) == (*before, "old")


ORPHAN = """
import pathlib, sys
from tools import progress, swap
with swap.alone(pathlib.Path(sys.argv[1])):
    progress.run("pip", [sys.executable, "-c", "import sys; open('begun', 'w').close(); sys.stdin.read()"])
"""


def test_what_a_killed_install_has_begun_is_waited_for(root, tmp_path):
    """pip hears nothing of its install's end: it would write into the environment that the next install has put back."""
    place = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(root)}}
    with subprocess.Popen([sys.executable, "-c", ORPHAN, tmp_path], stdin=subprocess.PIPE, **place) as first:
        while not (tmp_path / "begun").exists():
            assert first.poll() is None
            time.sleep(0.01)
        first.kill()
        first.wait()
        fd = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(fd, fcntl.LOCK_EX)  # its input is over, and so is it
    os.close(fd)


def test_torch_from_where_pip_looks_anyway_then_from_its_own_index(monkeypatch):
    tried = []

    def pip(title, arguments):
        tried.append((title, *arguments))
        if title == "torch" and "--index-url" not in arguments:
            raise progress.CommandFailed(["pip"], 1, [])

    monkeypatch.setattr(install, "pip", pip)
    install.pip_all(linux(), asked())
    assert [line[0] for line in tried] == ["torch", "torch", "packages"]
    assert "INDEX/cpu" in tried[1] and "--index-url" not in tried[2]


def test_to_keep_a_torch_everything_else_is_installed_beside_it(monkeypatch):
    tried = []
    monkeypatch.setattr(install, "pip", lambda title, arguments: tried.append((title, *arguments)))
    install.pip_all(linux(installed="2.12.0", choice="keep"), asked(torch="keep"))
    ((title, first, *rest),) = tried
    assert (title, first) == ("packages", "--ignore-installed")
    assert not any(pins.name(pin) == "torch" for pin in rest) and any(pin.startswith("jupyterlab==") for pin in rest)


def test_kept_torch_is_found_behind_our_own_packages(tmp_path, monkeypatch):
    theirs = tmp_path / "their site"
    theirs.mkdir()
    (theirs / "kept_here.py").write_text("")
    monkeypatch.setattr(install, "VENV", tmp_path / ".venv")
    kept = pythons.Python(sys.executable, sys.version_info[:3], True, "2.12.0", f"{theirs}/")
    monkeypatch.setattr(
        install.progress, "run", lambda title, command: subprocess.run([*command, "--without-pip"], check=True)
    )
    install.make_venv(kept, keep_torch=True)
    show = "import kept_here, sys; print(sys.path.index(sys.argv[1]) == len(sys.path) - 1)"
    done = subprocess.run([install.venv_python(), "-c", show, str(theirs)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_pins_lose_their_notes_and_on_request_torch_or_their_exactness():
    texts = ["# why\ntorch==2.13.0  # ranks\nnumpy==2.4.6\n-e .\n", "-r requirements.txt\npytest==9.2.0  # runs\n"]
    assert pins.read(texts) == ["torch==2.13.0", "numpy==2.4.6", "pytest==9.2.0"]
    assert pins.read(texts, keep_torch=True) == ["numpy==2.4.6", "pytest==9.2.0"]
    assert pins.read(texts, newest=True) == ["torch==2.13.0", "numpy>=2.4.6", "pytest>=9.2.0"]


def test_a_long_command_shows_a_beat_and_a_failing_one_its_last_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "BEAT", 0.05)
    slow = "import time; print('step one', flush=True); time.sleep(0.3)"
    progress.run("title", [sys.executable, "-c", slow])
    shown = capsys.readouterr().out
    assert "title" in shown and "step one" in shown
    with pytest.raises(progress.CommandFailed, match="exit status 3") as failed:
        progress.run("title", [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"])
    assert failed.value.tail[-1] == "the reason"


@pytest.mark.parametrize("kind", [browser.CHROMIUM, browser.FIREFOX], ids=lambda kind: kind.title)
def test_a_missing_browser_is_one_line_with_the_remedy(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    kind = kind._replace(mac="")
    monkeypatch.delenv(kind.variable, raising=False)
    with pytest.raises(browser.NoBrowser, match=f"apt-get install {kind.packages[-1]}"):
        browser.find(kind)
    with pytest.raises(browser.NoBrowser, match=f"apt-get install {kind.packages[-1]}"):
        browser.install(kind)
    for package in reversed(kind.packages):  # the first is preferred
        (tmp_path / package).write_text("#!/bin/sh\n")
        (tmp_path / package).chmod(0o755)
        assert browser.find(kind) == str(tmp_path / package)
    monkeypatch.setenv(kind.variable, "no-such-browser")
    with pytest.raises(browser.NoBrowser, match="no-such-browser was found"):
        browser.find(kind)


def test_a_package_that_there_is_not_is_no_reason_to_give_up(monkeypatch):
    asked = []

    def run(title, command):
        asked.append(title)
        if title == "chromium-headless-shell":
            raise progress.CommandFailed(command, 100, [])

    monkeypatch.setattr(browser.progress, "run", run)
    monkeypatch.setattr(browser.os, "geteuid", lambda: 0)
    monkeypatch.setattr(browser.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(browser.Path, "exists", lambda path: True)
    browser.install()
    assert asked == ["apt-get update", "chromium-headless-shell", "chromium"]


def test_a_snap_will_do_as_chromium_and_not_as_firefox(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("chromium", "firefox"):
        monkeypatch.delenv(name.upper(), raising=False)
        (tmp_path / name).write_text(f'#!/bin/sh\nexec /snap/bin/{name} "$@"\n')
        (tmp_path / name).chmod(0o755)
    assert browser.find() == str(tmp_path / "chromium")
    kind = browser.FIREFOX._replace(mac="")
    with pytest.raises(browser.NoBrowser, match="none was found"):
        browser.find(kind)
    monkeypatch.setenv("FIREFOX", "firefox")
    assert browser.find(kind) == str(tmp_path / "firefox"), "who names it knows"


def test_only_a_missing_chromium_stops_the_tests(tmp_path, monkeypatch, capsys):
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))  # without apt-get
    monkeypatch.setenv("CHROMIUM", "chromium")
    monkeypatch.setenv("FIREFOX", "no-such-firefox")
    assert browser.main(["--firefox"]) == 0
    assert "apt-get install firefox-esr" in capsys.readouterr().err
    monkeypatch.setenv("CHROMIUM", "no-such-chromium")
    assert browser.main([]) == 1


def make(root, *words, **environment):
    """What make would do, as text."""
    command = ["make", "-C", str(root), "--no-print-directory", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_make_alone_lists_the_words(root):
    listed = make(root).stdout
    for word in ("help", "book", "test", "lab", "notebooks", "clean"):
        assert re.search(rf"^  {word} +\w", listed, re.MULTILINE), word


def test_the_book_is_served_unless_told_otherwise(root):
    assert "tools.serve" in make(root, "-n", "book").stdout
    assert "tools.serve" not in make(root, "-n", "book", "SERVE=0").stdout


def test_the_lab_listens_here_only_and_keeps_its_token(root):
    does = make(root, "-n", "lab", "TORCH=keep", "PORT=8890").stdout
    assert '--torch "keep"' in does and "tools.lab --port 8890" in does
    starts = lab.command(8890, here=True)
    assert "--ip=127.0.0.1" in starts and not any("token" in word for word in starts)


def test_ci_runs_the_test_word_and_nothing_else(root):
    lines = [line for line in (root / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "set -euo pipefail" and lines[-1] == "make test" and len(lines) == 3
