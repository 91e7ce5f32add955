"""findings/: each script says what was expected and seen of which version, pins what it installs, and cleans up; and how they are run."""

from __future__ import annotations

import re
import subprocess

import pytest

from tools import findings
from website.findings import told

SCRIPTS = sorted(findings.FOLDER.glob("*.sh"))
STARTS = ("#!/usr/bin/env bash", "# ", "# Expected", "# Seen: ")
CLEAN = "set -euo pipefail\nfolder=$(mktemp -d)\ntrap 'rm -rf \"$folder\"' EXIT\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_the_form_of_the_readme(script):
    text = script.read_text()
    said, _ = text.split(CLEAN)
    found = [line for line in said.splitlines() if line.startswith(STARTS[2:])]
    assert said.startswith(f"{STARTS[0]}\n# {findings.versions(text)}")
    assert [line.split()[1].strip(",:") for line in found] == ["Expected", "Seen"]
    assert re.fullmatch(
        r":::\{dropdown\} .+\n:class-container: bim-surprise\n\nExpected.+\n\nSeen: .+\n:::", told(script.stem, text)
    ), "as pages show it"
    assert text.endswith('echo "as stated"\n') and script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", script]).returncode == 0


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_what_a_script_installs_is_pinned_to_the_version_that_it_names(script):
    text = script.read_text()
    lines = re.findall(r"(?:pip\"? install|npm install)(.*)", text)
    packages = [word for line in lines for word in line.split() if not word.startswith(("-", '"$'))]
    assert packages and all(re.fullmatch(r"[\w.-]+(==|@)\d[\w.]*", one) for one in packages)
    name, version = findings.versions(text).split()
    assert re.search(rf"(^| ){name}(==|@){re.escape(version)}( |$)", " ".join(packages))
    assert "helpers" not in text


def test_the_table_says_which_has_changed_and_why(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(findings, "FOLDER", tmp_path)
    for name, last in (("holds", "true"), ("moved", "echo it is 3 now; exit 1")):
        script = tmp_path / f"{name}.sh"
        script.write_text(
            f"#!/usr/bin/env bash\n# box 1.2.3: how many?\ntouch $(mktemp -d)/left\necho $TMPDIR\n{last}\n"
        )
        script.chmod(0o755)
    assert findings.main([]) == 1
    out = capsys.readouterr().out
    assert re.search(r"holds +box 1\.2\.3 +\d+ s  as stated\n", out) and re.search(r"moved +box 1.* changed\n", out)
    folder = re.search(r"  changed\n  (.*)\n  it is 3 now\n", out)[1]
    assert folder.startswith("/") and not findings.Path(folder).exists()
    assert findings.main(["holds"]) == 0
    with pytest.raises(SystemExit):
        findings.main(["missing"])
    assert "findings/ has no script missing" in capsys.readouterr().err
