"""Several small ES modules into one: what anywidget loads in a kernel and the site wraps as a plain script. No bundler needed.

The modules keep to a plain subset, and whatever falls outside it is refused: named imports from "./x.mjs" or "../other/x.mjs" on one line,
`export function|const`, one default at the entry, and names at the top that no other module of the widget has.
"""

from __future__ import annotations

import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "((?:\./|(?:\.\./)+)[\w/-]+\.mjs)";$', re.M)
_TOP = re.compile(r"^(export )?(?:async )?(?:function|const|let) (\w+)", re.M)
_DEFAULT = re.compile(r"^export default (.+);$", re.M)


class BundleError(ValueError):
    """A module that this bundler does not understand. The message names file and line."""


def bundle(entry: Path | str) -> str:
    """One ES module text with `export default ...` on its last line, from the entry module and everything it imports."""
    body, default = _flat(Path(entry).resolve())
    return f"{body}export default {default};\n"


def plain_script(entry: Path | str, name: str) -> str:
    """The same modules as a plain script for the page: ends in `BytesInMotion.define(name, module default)`."""
    body, default = _flat(Path(entry).resolve())
    return f'(()=>{{"use strict";\n{body}BytesInMotion.define("{name}",{default});\n}})();\n'


def _flat(entry: Path) -> tuple[str, str]:
    """All modules' text in one scope, each after the ones it imports; and the entry's default export."""
    paths = _in_order(entry, [], ())
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    _refuse_clashes(texts)
    default = _DEFAULT.search(texts[entry])
    if not default:
        raise BundleError(f"{entry.name} has no `export default ...;` on one line")
    body = "\n".join(_bare(path, text).strip() for path, text in texts.items())
    return _lean(body, default[1]) + "\n", default[1]


def _in_order(path: Path, done: list[Path], above: tuple[Path, ...]) -> list[Path]:
    """Every module after the ones that it imports."""
    if path in above:
        raise BundleError(f"{path.name} imports itself by way of {', '.join(p.name for p in above)}")
    if not path.is_file():
        raise BundleError(f"{above[-1].name if above else 'the bundle'} asks for {path.name}, which is not there")
    for names, target in _IMPORT.findall(path.read_text(encoding="utf-8")):
        other = (path.parent / target).resolve()
        _in_order(other, done, (*above, path))
        exported = {name for export, name in _TOP.findall(other.read_text(encoding="utf-8")) if export}
        if missing := set(names.split(", ")) - exported:
            raise BundleError(f"{path.name} imports {min(missing)} from {other.name}, which does not export it")
    if path not in done:
        done.append(path)
    return done


def _refuse_clashes(texts: dict[Path, str]) -> None:
    owners: dict[str, Path] = {}
    for path, text in texts.items():
        for _, name in _TOP.findall(text):
            if owners.setdefault(name, path) is not path:
                raise BundleError(f"{path.name} and {owners[name].name} both have {name} at the top: rename one")


def _lean(body: str, default: str) -> str:
    """Without the functions and constants that nothing asks for: a widget may use one function of another's module."""
    parts = re.split(
        r"^(?=[a-z])", body, flags=re.M
    )  # what is at the top begins a line; comments stay with what stands before
    words = [_mentioned(part) for part in parts]
    names = [top[2] if (top := _TOP.match(part)) else None for part in parts]
    kept = {i for i, name in enumerate(names) if name is None}
    wanted = _mentioned(default).union(*(words[i] for i in kept))
    while more := {i for i, name in enumerate(names) if i not in kept and name in wanted}:
        kept |= more
        wanted = wanted.union(*(words[i] for i in more))
    return "".join(part for i, part in enumerate(parts) if i in kept)


def _mentioned(part: str) -> set[str]:
    """Every word outside of comments that may be a name at the top: a word after one dot is a property."""
    return set(re.findall(r"(?<![^.]\.)\b\w+", re.sub(r"^\s*//.*", "", part, flags=re.M)))


def _bare(path: Path, text: str) -> str:
    """A module without its imports and the word export."""
    text = _DEFAULT.sub("", _IMPORT.sub("", text))
    text = re.sub(r"^export (?=(?:async )?(?:function|const|let) )", "", text, flags=re.M)
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*(import|export)\b", line) or "import(" in line:
            raise BundleError(f"{path.name}:{number} is outside the subset that bundle() understands: {line.strip()!r}")
    return text
