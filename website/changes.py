"""What is new, for a reader who comes back: the entries of CHANGELOG.md, each under a name of its own, as scripts of the front page.

The changelog has no dates, so the browser remembers which entries it was shown (assets/back.js). An entry's name is made of its
first words: one that is only mended further on is not new. The texts are loaded by who unfolds them.
"""

import re
from hashlib import sha256
from pathlib import Path

from sphinx.application import Sphinx

from website.scripts import call, compact, write

TEXTS = "changes-text.js"
ENTRY = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)
FIRST = 60  # letters that an entry is known by


def entries(changelog: str) -> dict[str, str]:
    """name -> what it says, as plain text; the newest first, as the file has them."""
    found = (re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", " ".join(entry.split())) for entry in ENTRY.findall(changelog))
    return {sha256(text[:FIRST].encode()).hexdigest()[:7]: text for text in found}


def write_changes(app: Sphinx, exception: Exception | None) -> None:
    """The names, and apart from them the texts, under _static/; a book without a changelog has none."""
    path = Path(app.srcdir, "CHANGELOG.md")
    told = entries(path.read_text(encoding="utf-8")) if path.exists() else {}
    texts = f"BytesInMotion.back.texts={compact(told)};\n"
    write(app, exception, {"changes.js": call("back.greet", list(told), TEXTS), TEXTS: texts})


def setup(app: Sphinx) -> dict[str, bool]:
    """Write them when all pages are built."""
    app.connect("build-finished", write_changes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
