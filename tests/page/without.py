"""Python as a page has it: no third-party package, and no floor 3. As a script: what blocks print, show and raise."""

import contextlib
import importlib.machinery
import io
import json
import subprocess
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ABOVE = ("helpers.ranks", "helpers.measure", "helpers.parallel", "helpers.patches")


class Lower(importlib.machinery.PathFinder):
    """Finds nothing above floor 2 but what a page has."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.startswith(ABOVE) else super().find_spec(name, path, target)


def played(blocks: list[str]) -> list[dict]:
    """Each block of a page, in order: {"text", "bundles", "error"}."""
    from helpers.page import cells, outputs, run

    names = vars(cells.HERE)
    names.clear()
    names |= {"__name__": "__main__", "display": outputs.display}
    told = []
    for number, block in enumerate(blocks, 1):
        outputs.kept.clear()
        out, error = io.StringIO(), ""
        with contextlib.redirect_stdout(out):
            try:
                run(block, f"block {number}")
            except BaseException as raised:
                raised.__traceback__ = raised.__traceback__.tb_next  # ours
                error = "".join(traceback.format_exception(raised))
        told.append({"text": out.getvalue(), "bundles": list(map(json.loads, outputs.kept)), "error": error})
    return told


def play(pages: dict[str, list[str]], python: str = sys.executable) -> dict[str, list[dict]]:
    """`played` of every page, in one process without site-packages (-S), from the folder of the labs."""
    command = [python, "-S", __file__]
    asked = json.dumps(pages)
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, cwd=ROOT / "notebooks")
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter, Lower]
    answers = {page: played(blocks) for page, blocks in json.load(sys.stdin).items()}
    json.dump(answers, sys.stdout)
