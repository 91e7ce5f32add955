"""Several small ES modules into one: what anywidget loads in a kernel and the site wraps as a plain script. No bundler needed.

Each module becomes a function scope that returns its exports, so names never clash. The modules keep to a plain subset, and
whatever falls outside it is refused: named imports from "./x.mjs" on one line, `export function|const|class`, one default at the entry.
"""

from __future__ import annotations

import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{ ?([^}]*?) ?\} from "(\./[\w-]+\.mjs)";$', re.M)
_EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|class) (\w+)", re.M)
_DEFAULT = re.compile(r"^export default ", re.M)
_COMMENT = re.compile(r"^\s*(?://.*|/\*\*?.*\*/)$", re.M)


class BundleError(ValueError):
    """A module that this bundler does not understand. The message names file and line."""


def bundle(entry: Path | str) -> str:
    """One ES module text with `export default ...` on its last line, from the entry module and everything it imports."""
    return f"{_scopes(Path(entry))}\nexport default {_name(Path(entry))}.default;\n"


def plain_script(entry: Path | str, name: str) -> str:
    """The same modules as a plain script for the page: ends in `BytesInMotion.define(name, module default)`."""
    body = f'{_scopes(Path(entry))}\nBytesInMotion.define("{name}", {_name(Path(entry))}.default);'
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def _scopes(entry: Path) -> str:
    return "\n".join(_scope(path) for path in _in_order(entry.resolve(), [], ()))


def _in_order(path: Path, done: list[Path], above: tuple[Path, ...]) -> list[Path]:
    """Every module after the ones that it imports."""
    if path in above:
        raise BundleError(f"{path.name} imports itself by way of {', '.join(p.name for p in above)}")
    if not path.is_file():
        raise BundleError(f"{above[-1].name if above else 'the entry'} asks for {path.name}, which is not there")
    for _, target in _IMPORT.findall(path.read_text(encoding="utf-8")):
        _in_order((path.parent / target).resolve(), done, (*above, path))
    if path not in done:
        done.append(path)
    return done


def _name(path: Path) -> str:
    return "m_" + path.stem.replace("-", "_")


def _scope(path: Path) -> str:
    """`const m_x = (() => { ...; return { exports }; })();`"""
    text = path.read_text(encoding="utf-8")
    exports = _EXPORT.findall(text)
    text = _IMPORT.sub(lambda found: _destructure(path, found), text)
    text = _DEFAULT.sub("const defaultExport = ", text)
    text = re.sub(r"^export ", "", text, flags=re.M)
    _refuse_leftovers(path, text)
    if "const defaultExport = " in text:
        exports.append("default: defaultExport")
    return f"const {_name(path)} = (() => {{\n{_squeeze(text)}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _destructure(path: Path, found: re.Match) -> str:
    names = found[1].replace(" as ", ": ")
    return f"const {{ {names} }} = {_name(path.parent / found[2])};"


def _refuse_leftovers(path: Path, text: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*(import|export)\b", line) or "import(" in line:
            raise BundleError(f"{path.name}:{number} is outside the subset that bundle() understands: {line.strip()!r}")
        if line.count("`") % 2:
            raise BundleError(f"{path.name}:{number}: a template literal must end on the line where it begins")


def _squeeze(text: str) -> str:
    """Without whole-line comments, indentation and blank lines. Strings are safe: none spans lines."""
    lines = (line.strip() for line in _COMMENT.sub("", text).splitlines())
    return "\n".join(line for line in lines if line)
