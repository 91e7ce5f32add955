"""`make book`, `make test` and `make lab` start here: makes .venv and installs what they need, once.

Standard library only. Run from the repository's root: `python3 -m tools.install [--for read|test|all]`.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools import driver, pins, progress, pythons, swap, torch_build

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "installed.json"  # written last: where there is none, the environment is not whole
CONSTRAINTS = "constraints.txt"  # what stands below the pins
FILES = {"read": ["requirements.txt"]}
FILES["test"] = [*FILES["read"], "requirements-dev.txt"]
FILES["all"] = [*FILES["test"], "requirements-jax.txt"]
# Folders of which a reader's and a test's Python imports little or nothing: what it does import of them is compiled then.
UNUSED = (
    r"site-packages.*[/\\](tests?|testing|lexers|onnx|_inductor|_dynamo|ao|_vendor|plotly|networkx|sympy|mpmath|sqlalchemy|"
    r"debugpy|pip|setuptools|mypyc?)[/\\]"
)
COMPILE = """import compileall, re, sys, sysconfig
folder = sysconfig.get_path('purelib') + '/' + sys.argv[2]
compileall.compile_dir(folder, quiet=2, workers=0, rx=re.compile(sys.argv[1]))"""


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument(
        "--for",
        dest="level",
        choices=FILES,
        default="read",
        help="read: book and lab; test: the tests too; all: what only make test-all wants",
    )
    ask.add_argument(
        "--python", default="", help="the interpreter to use; otherwise that of .venv, or the first fit on PATH"
    )
    ask.add_argument(
        "--torch", default="", help=f"one of {', '.join(torch_build.CHOICES)}; otherwise as .venv was made"
    )
    ask.add_argument("--torch-index", default="", help="where torch publishes its wheels, one folder a build")
    ask.add_argument("--pins", choices=("exact", "newest"), default="exact", help="newest: floors instead of pins")
    asked = ask.parse_args()
    try:
        with swap.told_to_end():
            install(asked)
    except (pythons.NoPython, torch_build.NoBuild) as missing:
        print(missing, file=sys.stderr)
        return 1
    except (progress.CommandFailed, OSError) as failed:  # an OSError: no room
        kept = f" {VENV.name} is what it was before." if read_stamp() else ""
        tail = getattr(failed, "tail", ())
        said = f"The install stopped: {failed}.{kept}"
        print(*tail, said, what_now(*tail, str(failed)), sep="\n", file=sys.stderr)
        return 1
    return 0


def what_now(*lines: str) -> str:
    """What to type after an install that said these lines when it stopped."""
    if not any(os.strerror(errno.ENOSPC) in line for line in lines):
        return "The same make command tries again, with what pip has kept."
    there = tempfile.gettempdir()
    return (
        f"{free_gb(ROOT):.1f} GB are free here, {free_gb(there):.1f} in {there}, where pip's downloads wait. Free some (pip cache purge),"
        " or let them wait elsewhere: the same make command behind TMPDIR=/another/folder"
    )


def free_gb(folder: Path | str) -> float:
    return shutil.disk_usage(folder).free / 1e9


def install(asked: argparse.Namespace) -> None:
    """Brings .venv to what `asked` says, and does nothing when it is there already. What fails leaves it as it was."""
    with swap.alone(ROOT):
        swap.recover(VENV, whole=bool(read_stamp()))
        _install(asked)


def _install(asked: argparse.Namespace) -> None:
    stamp = read_stamp()
    runs = python_runs(stamp)
    remember(asked, stamp["settings"] if runs else {})
    settings = {"root": str(ROOT), "driver": driver.version()}
    settings.update({name: getattr(asked, name) for name in ("python", "torch", "pins")})
    wanted = fingerprint(asked.level)
    if stamp.get("settings") == settings and stamp.get(asked.level) == wanted and runs:
        return
    python = pythons.find(asked.python, with_torch=asked.torch == "keep")
    build = torch_build.plan(platform.system(), platform.machine(), settings["driver"], python.torch, asked.torch)
    print(f"Installing into .venv: Python {version_text(python)}, {build.why}", flush=True)
    if build.note:
        print(f"Note: {build.note}", flush=True)
    same = stamp.get("settings") == settings and stamp.get("version") == version_text(python) and runs
    grows = same and asked.torch != "keep"
    if not grows and (free := free_gb(ROOT)) < build.room:
        raise OSError(
            f"it takes about {build.room} GB, and {free:.1f} are free in {ROOT}; move it to a larger disk (df -h), or free some"
        )
    with swap.kept(VENV, grows):
        STAMP.unlink(missing_ok=True)
        if not grows:
            stamp = {}
            make_venv(python, asked.torch == "keep")
        start = time.monotonic()
        pip_all(build, asked)
        compile_used()
        print(f"Installed in {time.monotonic() - start:.0f} s", flush=True)
        quiet_lab()
        levels = {level: fingerprint(level) for level, files in FILES.items() if set(files) <= set(FILES[asked.level])}
        write_stamp({**stamp, **levels, "settings": settings, "version": version_text(python)})


def remember(asked: argparse.Namespace, before: dict) -> None:
    """PYTHON and TORCH hold until others are named: a word without them would else replace a kept torch by gigabytes of another."""
    asked.torch = asked.torch or before.get("torch", "auto")
    asked.python = asked.python or before.get("python", "")


def pip_all(build: torch_build.Plan, asked: argparse.Namespace) -> None:
    """torch alone first (its build is a choice, and only torch may come from torch's index), then every pin."""
    for position, tag in enumerate(build.tags):
        where = ["--index-url", f"{asked.torch_index}/{tag}"] if tag else []
        try:
            pip("torch", ["--no-deps", "--retries", "1", *where, build.requirement])
            break
        except progress.CommandFailed:
            if position + 1 == len(build.tags):
                raise
    early = subprocess.Popen(compiling("torch"), close_fds=False)  # while pip, on one core, unpacks the rest
    texts = [(ROOT / name).read_text() for name in FILES[asked.level]]
    wanted = pins.read(texts, keep_torch=not build.tags, newest=asked.pins == "newest")
    # Beside a kept torch stands a whole world of packages; JupyterLab and its widgets must still be in our own prefix.
    apart = [] if build.tags else ["--ignore-installed"]
    bounds = ["-c", str(ROOT / CONSTRAINTS)] if asked.pins == "exact" else []
    try:
        pip("packages", [*apart, *bounds, *wanted, "-e", str(ROOT)])
    finally:
        early.wait()


def compile_used() -> None:
    """All cores at once, where pip would take the 12,000 files one after the other on one; without those that nobody here imports."""
    progress.run("compiling", compiling(""))


def compiling(package: str) -> list[str]:
    """The command that compiles a package, or with "" all of them."""
    return [str(venv_python()), "-c", COMPILE, UNUSED, package]


def quiet_lab() -> None:
    """JupyterLab asks its makers for news and updates, and the reader whether it may. In our .venv it does neither."""
    settings = VENV / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    asks = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "overrides.json").write_text(json.dumps({"@jupyterlab/apputils-extension:notification": asks}))


def pip(title: str, arguments: list[str]) -> None:
    """`pip install` with the venv's own Python, shown as it goes. Raises CommandFailed."""
    quiet = ["--no-input", "--no-compile", "--disable-pip-version-check", "--progress-bar", "off"]
    progress.run(title, [str(venv_python()), "-m", "pip", "install", *quiet, *arguments])


def make_venv(python: pythons.Python, keep_torch: bool) -> None:
    """A clean .venv. To keep a torch, its folder is appended to the path: ours comes first, theirs is still found.

    That also works where torch itself stands in a virtual environment, which --system-site-packages does not see.
    """
    progress.run("environment", [python.executable, "-m", "venv", "--clear", str(VENV)])
    if keep_torch and python.site:
        library = next((VENV / "lib").glob("python3*/site-packages"))
        (library / "kept_torch.pth").write_text(python.site.rstrip("/") + "\n")


def fingerprint(level: str) -> str:
    """Changes whenever a pin or the package's metadata changes."""
    parts = [ROOT / name for name in [*FILES[level], CONSTRAINTS, "pyproject.toml"]]
    return hashlib.sha256(b"\0".join(part.read_bytes() for part in parts)).hexdigest()


def read_stamp() -> dict:
    """What the last finished install wrote; {} when there is none or it cannot be read."""
    try:
        return json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}


def write_stamp(stamp: dict) -> None:
    """All of it or nothing: from then on the environment is whole."""
    half = STAMP.with_suffix(".half")
    half.write_text(json.dumps(stamp, indent=1))
    half.replace(STAMP)


def python_runs(stamp: dict) -> bool:
    """Whether .venv's Python still starts, in the version it was made with."""
    if not venv_python().exists():
        return False
    command = [str(venv_python()), "-c", "import platform; print(platform.python_version())"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() == stamp.get("version")


def venv_python() -> Path:
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def version_text(python: pythons.Python) -> str:
    return ".".join(map(str, python.version[:3]))


if __name__ == "__main__":
    sys.exit(main())
