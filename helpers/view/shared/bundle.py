"""Several small ES modules into one: what anywidget loads in a kernel and the site wraps as a plain script.

Our own few lines, not a bundler's: the kernel of any reader bundles too, in milliseconds, with what pip brought. Each module becomes
a function that is called once, so names at its top are its own; what nothing asks for is left out. The modules keep to a plain subset,
and whatever falls outside is refused: named imports from "./x.mjs" or "../other/x.mjs", `export function|class|const`, one
default at the entry.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_IMPORT = re.compile(r'^import \{\s*([\w, \n]+?),?\s*\} from "((?:\./|(?:\.\./)+)[\w/ -]+\.mjs)";$', re.M)
_TOP = re.compile(r"^(export )?(?:async )?(?:function|class|const|let) (\w+)", re.M)
_DEFAULT = re.compile(r"^export default (.+);$", re.M)


class BundleError(ValueError):
    """A module that this bundler does not understand. The message names file and line."""


def bundle(entry: Path | str) -> str:
    """One ES module text with `export default ...` on its last line, from the entry module and everything it imports."""
    body, default = _whole(Path(entry).resolve())
    return f"{body}export default {default};\n"


def plain_script(entry: Path | str, name: str, needs: tuple[str, ...] = ()) -> str:
    """The same modules as a plain script for the page: ends in `BytesInMotion.define(name, module default, needs)`.

    needs: what the page must know before the widget is drawn, as `helpers.view.widgets` has it.
    """
    body, default = _whole(Path(entry).resolve())
    asked = "".join(f',"{one}"' for one in needs)
    return f'(()=>{{"use strict";\n{body}BytesInMotion.define("{name}",{default}{asked});\n}})();\n'


def _whole(entry: Path) -> tuple[str, str]:
    """All modules as functions, each after the ones it imports; and the name that the entry's default has there."""
    paths = _in_order(entry, [], ())
    names = {path: f"${i}" for i, path in enumerate(paths)}
    wanted: dict[Path, set[str]] = {path: set() for path in paths}
    # Who asks comes before who is asked
    made = {path: _function(path, path == entry, wanted) for path in reversed(paths)}
    whole = [f"const {names[path]} = {_called(made[path], names, wanted)}" for path in paths if made[path]]
    return "".join(whole), names[entry]


class Function(NamedTuple):
    """A module: what it asks of which others, its statements, and what it hands on."""

    asked: list[tuple[Path, set[str]]]
    body: str
    handed: str


def _called(made: Function, names: dict[Path, str], wanted: dict[Path, set[str]]) -> str:
    """A module as a function that is called at once. What others want of a module is handed over as an array, in the order of names."""
    asked = ""
    for target, used in made.asked:
        places = ",".join(name if name in used else "" for name in sorted(wanted[target]))
        asked += f"const [{places}] = {names[target]};\n" if used else ""
    return f"(() => {{\n{asked}{made.body}\nreturn {made.handed};\n}})();\n"


def _function(path: Path, is_entry: bool, wanted: dict[Path, set[str]]) -> Function | None:
    """A module without what nobody wants of it, None when nothing is left; what it wants itself is added to `wanted`."""
    text = path.read_text(encoding="utf-8")
    default = _DEFAULT.search(text)
    if is_entry and not default:
        raise BundleError(f"{path.name} has no `export default ...;` on one line")
    handed = default[1] if is_entry else f"[{', '.join(sorted(wanted[path]))}]"
    body = _lean(_bare(path, text), handed)
    if not body.strip():
        return None
    mentioned = _mentioned(body) | _mentioned(handed)
    asked = []
    for target, imported in _imports(path, text):
        asked.append((target, {name for name in imported if name in mentioned}))
        wanted[target] |= asked[-1][1]
    return Function(asked, body.strip(), handed)


def _imports(path: Path, text: str) -> list[tuple[Path, list[str]]]:
    """Every import of a module: from which file, which names."""
    found = _IMPORT.findall(text)
    return [((path.parent / target).resolve(), re.split(r",\s*", names.strip())) for names, target in found]


def _in_order(path: Path, done: list[Path], above: tuple[Path, ...]) -> list[Path]:
    """Every module after the ones that it imports."""
    if path in above:
        raise BundleError(f"{path.name} imports itself by way of {', '.join(p.name for p in above)}")
    if not path.is_file():
        raise BundleError(f"{above[-1].name if above else 'the bundle'} asks for {path.name}, which is not there")
    if path in done:
        return done
    for other, names in _imports(path, path.read_text(encoding="utf-8")):
        _in_order(other, done, (*above, path))
        exported = {name for export, name in _TOP.findall(other.read_text(encoding="utf-8")) if export}
        if missing := set(names) - exported:
            raise BundleError(f"{path.name} imports {min(missing)} from {other.name}, which does not export it")
    done.append(path)
    return done


def _lean(body: str, handed: str) -> str:
    """Without the functions and constants that nothing asks for: a widget may use one function of a module."""
    # What is at the top begins a line; comments stay with what stands before.
    parts = re.split(r"^(?=[a-z])", body, flags=re.M)
    words = [_mentioned(part) for part in parts]
    names = [top[2] if (top := _TOP.match(part)) else None for part in parts]
    kept = {i for i, part in enumerate(parts) if names[i] is None and words[i]}
    wanted = _mentioned(handed).union(*(words[i] for i in kept))
    while more := {i for i, name in enumerate(names) if i not in kept and name in wanted}:
        kept |= more
        wanted = wanted.union(*(words[i] for i in more))
    return "".join(part for i, part in enumerate(parts) if i in kept)


def _mentioned(part: str) -> set[str]:
    """Every word that may be a name at the top: none in a comment, alone in quotes, or with a hyphen; after one dot it is a property."""
    return set(re.findall(r"(?<![^.]\.)(?<!\w-)\b\w+\b(?!-\w)", re.sub(r'^\s*//.*|"[\w-]*"', "", part, flags=re.M)))


def _bare(path: Path, text: str) -> str:
    """A module without its imports and the word export."""
    text = _DEFAULT.sub("", _IMPORT.sub("", text))
    text = re.sub(r"^export (?=(?:async )?(?:function|class|const|let) )", "", text, flags=re.M)
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*(import|export)\b", line) or "import(" in line:
            raise BundleError(f"{path.name}:{number} is outside the subset that bundle() understands: {line.strip()!r}")
    return text
