"""The list of chapters beside every page: folded by part, numbered, a chapter's lab a mark at its name.

Names and order are those of _toc.yml, as on the map, on cards and in verdicts; a page's own title holds its name, and may ask more.
On a telephone all parts lie open behind one button.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import NamedTuple

from sphinx import addnodes
from sphinx.environment import BuildEnvironment


class Chapter(NamedTuple):
    """page, lab: document names, "" where there is no lab. number: within the book, of what has a lab; 0 elsewhere."""

    page: str
    name: str
    lab: str
    number: int


class Part(NamedTuple):
    name: str
    chapters: tuple[Chapter, ...]


def parts(env: BuildEnvironment) -> tuple[Part, ...]:
    """The book as _toc.yml has it."""
    found, number = [], 0
    for tree in env.get_doctree(env.config.root_doc).findall(addnodes.toctree):
        chapters = []
        for title, page in tree["entries"]:
            lab = next(iter(env.toctree_includes.get(page, ())), "")
            number += bool(lab)
            chapters.append(Chapter(page, title or env.titles[page].astext(), lab, number if lab else 0))
        found.append(Part(tree["caption"], tuple(chapters)))
    return tuple(found)


def listed(all_parts: tuple[Part, ...], page: str, link: Callable[[str], str]) -> str:
    """The list as HTML, the part of `page` open and its place marked; a page of no part has all of them open."""
    homeless = not any(page in (one.page, one.lab) for part in all_parts for one in part.chapters)
    return "".join(part for one in all_parts for part in _part(one, page, link, homeless))


def _part(part: Part, page: str, link: Callable[[str], str], is_open: bool) -> Iterator[str]:
    here = is_open or any(page in (one.page, one.lab) for one in part.chapters)
    yield f'<details class="bim-chapters-part"{" open" if here else ""}><summary>{escape(part.name)}</summary><ul>'
    for one in part.chapters:
        number = f"<span>{one.number}</span> " if one.number else ""
        lab = _link(one.lab, "<abbr>lab</abbr>", page, link, f"Lab: {one.name}") if one.lab else ""
        yield f'<li data-page="{one.page}">{_link(one.page, number + escape(one.name), page, link)}{lab}</li>'
    yield "</ul></details>"


def _link(target: str, text: str, page: str, link: Callable[[str], str], name: str = "") -> str:
    """A link, marked on its own page. name: what it is called and shows as a tooltip, where its text is too short to tell."""
    current = ' class="current" aria-current="page"' if target == page else ""
    named = f' aria-label="{escape(name)}" title="{escape(name)}"' if name else ""
    return f'<a href="{escape(link(target))}"{current}{named}>{text}</a>'
