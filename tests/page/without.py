"""Python as a page has it: its library, and no package of others. As a script: what blocks print, show and raise there."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import traceback
import zipfile
from pathlib import Path


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


def play(pages: dict[str, list[str]]) -> dict[str, list[dict]]:
    """`played` of every page, in one process without site-packages (-S)."""
    from website.python import library

    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(io.BytesIO(library())).extractall(folder)
        command = [sys.executable, "-S", __file__]
        done = subprocess.run(command, input=json.dumps(pages), capture_output=True, text=True, check=True, cwd=folder)
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    answers = {page: played(blocks) for page, blocks in json.load(sys.stdin).items()}
    json.dump(answers, sys.stdout)
