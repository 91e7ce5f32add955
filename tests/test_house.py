"""The house in order: sizes, names, pins, licences, third-party files, and nothing of anybody's machine in a file."""

import ast
import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONGEST_FILE, LONGEST_SMALL_FILE = 300, 200
FUNCTION_P90 = 25

# Spelled in pieces, so that this file does not hold what it looks for.
HOSTS = ["pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "npmjs" + ".com", "download.pytorch" + ".org"]
PLACES = ["/wor" + "k/", "/roo" + "t/", "/op" + "t/", "/hom" + r"e/(?!reader)"]  # the folder of Python in a page
WORKSHOP = [r"\bfar" + r"m-\w", r"\bissue" + r"s show\b", r"\bage" + r"nts?\b", r"\bhelpe" + r"r\b"]
UNFINISHED = [r"\bTOD" + r"O\b", r"\bFIXM" + r"E\b", r"\bXX" + r"X\b", r"\bfla" + r"ky\b", r"\breru" + r"ns?="]
ALLOWED = {
    ("Makefile", HOSTS[4]),  # the one variable that says where torch publishes its builds
    ("package-lock.json", HOSTS[2]),
}


def tracked() -> list[Path]:
    """The files of the repository, less third-party ones; all files in an unpacked archive that has no history."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in paths if path.is_file() and "vendor" not in path.parts]


REQUIREMENTS = ("requirements.txt", "requirements-dev.txt", "requirements-jax.txt")
FILES = tracked()
CODE = [path for path in FILES if path.suffix in (".py", ".mjs", ".js", ".css")]
PYTHON = [path for path in CODE if path.suffix == ".py"]
PROSE = [path for path in FILES if path.suffix == ".md" and path.parent in (ROOT, ROOT / "book", ROOT / "assets")]


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def text(path: Path) -> str:
    """The file's text, or "" of a file that is none."""
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode()


def hits(patterns: list[str], paths: list[Path]) -> list[str]:
    """ "file: what was found" for every pattern in every file."""
    found = ((path, pattern, re.search(pattern, text(path))) for path in paths for pattern in patterns)
    return [f"{short(path)}: {hit[0]}" for path, pattern, hit in found if hit and (short(path), pattern) not in ALLOWED]


def test_the_repository_is_read():
    assert len(PYTHON) > 50 and len(PROSE) >= 5, "run the tests in a clone: git lists the files"


def test_files_are_small():
    """Tests may be longer: a list of cases is read one at a time."""
    own = [path for path in CODE if not path.is_relative_to(ROOT / "tests")]
    small = [path for path in own if path.suffix == ".mjs" or path.is_relative_to(ROOT / "website")]
    sizes = {short(path): len(text(path).splitlines()) for path in own}
    assert {name: lines for name, lines in sizes.items() if lines > LONGEST_FILE} == {}
    assert {n: sizes[n] for n in map(short, small) if sizes[n] > LONGEST_SMALL_FILE} == {}


@pytest.mark.parametrize("folder", ["helpers", "website", "tools", "benchmarks"])
def test_functions_are_short(folder):
    trees = [ast.parse(text(path)) for path in PYTHON if path.is_relative_to(ROOT / folder)]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lengths = sorted(node.end_lineno - node.lineno + 1 for node in functions) or [0]
    assert lengths[int(0.9 * len(lengths))] <= FUNCTION_P90, lengths[-5:]


# Always imported with its package, so it hides no module.
ALSO_A_MODULE = {"helpers/memory/trace.py"}


def test_nothing_is_named_like_the_standard_library_or_after_nothing():
    ours = [path for path in PYTHON if not path.is_relative_to(ROOT / "tests")]
    names = {short(path): path.stem for path in ours if not path.stem.startswith("__")}
    assert {name for name, stem in names.items() if stem in sys.stdlib_module_names} <= ALSO_A_MODULE
    assert [name for name, stem in names.items() if stem in ("utils", "util", "common", "misc", "lib")] == []


def test_packages_only_hand_names_on():
    for path in (ROOT / "helpers").rglob("__init__.py"):
        body = ast.parse(text(path)).body
        odd = [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.Expr)]
        assigned = [ast.unparse(node.targets[0]) for node in body if isinstance(node, ast.Assign)]
        assert odd == [] and all(name == "__all__" or name.isupper() for name in assigned), short(path)


def test_test_files_have_names_of_their_own():
    names = [path.name for path in PYTHON if path.is_relative_to(ROOT / "tests") and path.name.startswith("test_")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_pins_are_exact_and_say_why(name):
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith(("#", "-"))]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+\s+# .{8,}", line)] == []


def test_the_licences_are_here_in_full():
    code, prose = (ROOT / "LICENSE").read_text(), (ROOT / "LICENSE-text").read_text()
    assert "Apache License" in code and "END OF TERMS AND CONDITIONS" in code
    assert prose.startswith("Attribution 4.0 International") and "Section 8 -- Interpretation." in prose


@pytest.mark.parametrize("table", [ROOT / "assets/vendor/vendor.toml", ROOT / "tests/vendor/vendor.toml"], ids=short)
def test_third_party_files_are_the_published_ones(table):
    named = tomllib.loads(table.read_text())
    stored = {path for path in table.parent.rglob("*") if path.is_file() and path != table}
    listed = {
        table.parent / name / file: want for name, entry in named.items() for file, want in entry["sha256"].items()
    }
    assert stored == set(listed)
    for path, want in listed.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == want, short(path)
    for name, entry in named.items():
        assert entry["version"] and entry["license"] and "LICENSE" in entry["sha256"], name


def test_no_file_names_a_registry_or_a_place_on_somebodys_disk():
    assert hits([re.escape(host) for host in HOSTS[:4]], FILES) == []
    assert [hit for hit in hits([HOSTS[4]], FILES) if not hit.startswith("Makefile")] == []
    assert hits([rf"(?<![\w.]){place}" for place in PLACES], FILES) == []


def test_no_file_speaks_of_how_it_was_made():
    assert hits(WORKSHOP, FILES) == []


def test_nothing_is_left_for_later_or_tried_again():
    assert hits(UNFINISHED, CODE) == []
    assert hits([r"mark\.skip(?!if)\b(?!\(reason=)", r"mark\.xfail\b(?!\()"], PYTHON) == []


def test_tests_find_the_browser_where_it_is():
    assert hits(["/usr/bin/" + "chromium"], CODE) == []


def said(path: Path) -> str:
    """The prose of a page: no front matter, code, roles or pictures."""
    prose = re.sub(r"\A---\n.*?\n---\n", "", text(path), flags=re.DOTALL)
    prose = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", prose, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`|!\[", "", prose)


def test_the_voice_is_a_colleagues():
    words = [r"(?i)\bsimply\b", r"(?i)\bobviously\b", r"(?i)\bpowerful\b", r"(?i)\bof course\b", r"\w!(?=\s|$)"]
    found = ((path, re.search(word, said(path))) for path in PROSE for word in words)
    assert [f"{short(path)}: {hit[0]}" for path, hit in found if hit] == []


def test_a_bandwidth_in_prose_says_its_direction():
    directions = re.compile(r"one way|both ways|each way|busbw|algbw")
    for path in PROSE:
        for paragraph in said(path).split("\n\n"):
            if re.search(r"\d\s?G(?:i?B|b)/s", paragraph):
                assert directions.search(paragraph), f"{short(path)}: {paragraph}"


def test_the_commands_that_a_reader_is_told_exist():
    words = set(re.findall(r"^([a-z-]+):", text(ROOT / "Makefile"), re.MULTILINE))
    told = {word for path in PROSE for word in re.findall(r"(?:`|^)make ([a-z-]+)", text(path), re.MULTILINE)}
    assert told <= words and {"book", "test"} <= told
    readme = text(ROOT / "README.md")
    assert "make book" in readme and "make test" in readme


def test_constraints_hold_every_pin():
    """What make installs is what the tests ran with, down to the last package; torch's build is the machine's."""
    bounds = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M))
    bounds = {name.lower().replace("_", "-"): version for name, version in bounds.items()}
    pins = "".join((ROOT / name).read_text() for name in REQUIREMENTS)
    wanted = {name.lower().replace("_", "-"): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", pins, re.M)}
    assert len(bounds) > 100
    assert {name: bounds.get(name) for name in wanted if name != "torch"} == {
        name: version for name, version in wanted.items() if name != "torch"
    }
