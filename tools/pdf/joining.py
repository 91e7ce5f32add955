"""Chapters into one file: links lead to pages of it, an outline stands beside it, and no address of the printing machine stays."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Iterable
from urllib.parse import unquote, urldefrag

from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    Fit,
    FloatObject,
    NameObject,
    NullObject,
    TextStringObject,
)

from tools.pdf.chapters import Printed

Place = tuple[int, float]  # a page of the whole file, counted from 0, and how high on it, in points from below


def count(pdf: bytes) -> int:
    """How many sheets a PDF has."""
    return len(PdfReader(io.BytesIO(pdf)).pages)


def joined(chapters: Iterable[Printed], home: str) -> PdfWriter:
    """One file of all chapters; home: where they were printed from."""
    writer = PdfWriter()
    printed, places = list(chapters), {}
    for one in printed:
        reader = PdfReader(io.BytesIO(one.pdf))
        places |= places_of(reader, one.leaf.name, len(writer.pages))
        spell_out(reader, f"{home}/{one.leaf.name}.html")
        writer.append(reader, import_outline=False)
    relink(writer, home, places)
    outline(writer, printed, places)
    writer.add_metadata({"/Title": printed[0].title, "/Producer": "make pdf"})
    writer.compress_identical_objects()
    return writer


def places_of(reader: PdfReader, name: str, before: int) -> dict[tuple[str, str], Place]:
    """(page, id) -> its place; the id "" is the page's beginning."""
    found: dict[tuple[str, str], Place] = {(name, ""): (before, float(reader.pages[0].mediabox.top))}
    for ident, place in reader.named_destinations.items():
        number = reader.get_destination_page_number(place)
        if number is not None:
            found[name, unquote(ident.removeprefix("/"))] = (before + number, float(place.top or 0))
    return found


def spell_out(reader: PdfReader, address: str) -> None:
    """Links within a chapter become whole addresses: the names that they use are not unique in the book."""
    for page in reader.pages:
        for link in links(page):
            if "/Dest" in link:
                ident = str(link.pop(NameObject("/Dest"))).removeprefix("/")
                action = {
                    NameObject("/S"): NameObject("/URI"),
                    NameObject("/URI"): TextStringObject(f"{address}#{ident}"),
                }
                link[NameObject("/A")] = DictionaryObject(action)
    reader.trailer["/Root"].get_object().pop(NameObject("/Dests"), None)
    reader.trailer["/Root"].get_object().pop(NameObject("/Names"), None)


def links(page: DictionaryObject) -> list[DictionaryObject]:
    """The link annotations of a page."""
    annotations = [one.get_object() for one in page.get("/Annots", [])]
    return [one for one in annotations if one.get("/Subtype") == "/Link"]


def address_of(link: DictionaryObject) -> str:
    return str(link.get("/A", {}).get("/URI", ""))


def relink(writer: PdfWriter, home: str, places: dict[tuple[str, str], Place]) -> None:
    """What led to a page of the book leads to a page of the file; what led to another file of the site leads nowhere."""
    for page in writer.pages:
        kept = ArrayObject()
        for one in page.get("/Annots", []):
            link = one.get_object()
            address = address_of(link)
            if address.startswith(home):
                place = found(address.removeprefix(home), places)
                if place is None:
                    continue
                link.pop(NameObject("/A"))
                link[NameObject("/Dest")] = destination(writer, place)
            kept.append(one)
        page[NameObject("/Annots")] = kept


def found(path: str, places: dict[tuple[str, str], Place]) -> Place | None:
    """The place of "/book/ring.html#exercises"; without such an id the page's beginning, without such a page None."""
    target, ident = urldefrag(path)
    name = posixpath.normpath(unquote(target)).strip("/").removesuffix(".html")
    return places.get((name, unquote(ident)), places.get((name, "")))


def destination(writer: PdfWriter, place: Place) -> ArrayObject:
    page, top = place
    return ArrayObject(
        [writer.pages[page].indirect_reference, NameObject("/XYZ"), NullObject(), FloatObject(top), NullObject()]
    )


def outline(writer: PdfWriter, printed: list[Printed], places: dict[tuple[str, str], Place]) -> None:
    """Parts, their chapters, under these their labs and headings."""
    above: dict[int, object] = {}
    part = ""
    for one in printed:
        start = places[one.leaf.name, ""]
        if one.leaf.part != part:
            part = one.leaf.part
            above = {-1: add(writer, part, start, None)}
        own = above[one.leaf.depth] = add(writer, one.title, start, above.get(one.leaf.depth - 1))
        for ident, heading in one.sections:
            add(writer, heading, places.get((one.leaf.name, ident), start), own)


def add(writer: PdfWriter, title: str, place: Place, parent: object) -> object:
    return writer.add_outline_item(
        title=title, page_number=place[0], parent=parent, fit=Fit.xyz(top=place[1]), is_open=parent is None
    )
