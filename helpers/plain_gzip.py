"""Files packed by gzip, unfolded no further than they are read: a few kilobytes may hold gigabytes. Chapter: yours."""

from __future__ import annotations

import zlib

GZIP = b"\x1f\x8b"  # how such a file begins


class GzipError(ValueError):
    """Not whole."""


def unfolded(packed: bytes, most: int) -> bytes:
    """What it holds, cut off behind `most` + 1 bytes: whoever reads so many refuses it. GzipError for what is damaged or torn off."""
    reader = zlib.decompressobj(31)
    try:
        found = reader.decompress(packed, most + 1)
    except zlib.error:
        raise GzipError("packed by gzip and damaged") from None
    if not reader.eof and len(found) <= most:
        raise GzipError("packed by gzip and ends too early")
    return found
