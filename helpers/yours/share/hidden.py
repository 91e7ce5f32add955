"""A text without names of hosts, addresses, people, jobs and places, so that it can be shown to others. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Iterator

from helpers.yours.share.names import COMMON, HOST, NOBODY, Told, told_in

ADDRESS, PATH, UUID = "address", "path", "uuid"
_HEX, _PART = r"[\da-fA-F]", r"[\w.+@%=,-]+"
_GUID = rf"(?<=[Gg][Uu][Ii][Dd])(?:=\"|[ \t]*:[ \t]*|[ \t]+)(?P<guid>0x{_HEX}{{8,16}}|{_HEX}{{4}}(?::{_HEX}{{4}}){{3}})"
_MAC = rf"(?<![\w:.]){_HEX}{{1,4}}(?::{_HEX}{{1,4}}){{5,19}}(?![\w:])|(?<![\w-]){_HEX}{{2}}(?:-{_HEX}{{2}}){{5}}(?![\w-])"  # or IPv6, GID
_SHORT = rf"(?<![\w:.]){_HEX}{{3,4}}(?::{_HEX}{{1,4}}){{0,6}}::{_HEX}{{1,4}}(?::{_HEX}{{1,4}}){{0,6}}(?:%\w+)?(?![\w:])"
_IPV4 = (
    r"(?<![\w.])(?<!==)(?<!-)(?<!ersion )(?<!ersion: )(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)"  # no version of four numbers
)
_FOLDERS = "home|Users|root|scratch|data\\d*|mnt|nfs|lustre|gpfs|fsx|work|workspace|projects?|shared|tmp"
_UNIX = rf"(?<![\w./~+-])(?:~[\w.-]*|\.\.\.)?(?:/{_PART}){{2,}}/?|(?<![\w./~+-])~[\w.-]*/{_PART}|/(?:{_FOLDERS})(?:/{_PART})+/?"
THINGS = (  # kind, what the text must have, and the thing
    ("url", "://", r"(?<![\w.+-])[a-z][a-z+]{1,9}://[^\s'\"<>\\)\]}]+"),
    (UUID, "-", rf"(?<![\w-])(?:GPU-|MIG-)?{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}(?![\w-])"),
    (ADDRESS, "uid", _GUID),
    (ADDRESS, "GUID", _GUID),
    (ADDRESS, "", _MAC),
    (ADDRESS, "::", _SHORT),
    (ADDRESS, ".", _IPV4),
    (PATH, ":\\", r"[A-Za-z]:(?:\\+[^\s\\\"'<>|:]+){2,}"),
    (PATH, "/", _UNIX),
)
_THINGS = tuple((kind, needs, re.compile(pattern)) for kind, needs, pattern in THINGS)
EVERYBODYS = re.compile(  # of paths, up to where nothing is anybody's own
    r"/(?:usr|etc|dev|proc|sys|lib(?:32|64)?|s?bin|var/(?:run|lib|log)|run|opt/(?:amazon|aws|rocm|nvidia|mellanox|intel|hpcx|conda|pytorch))"
    r"(?:[/\d.-]|$)|~/\.nccl\.conf$"
)
PACKAGES = re.compile(r"[/\\]+(?:site|dist)-packages[/\\]")
HOMES = re.compile(r"/(?:home|Users)|[A-Za-z]:\\+Users\\*")
PUBLIC = re.compile(
    r"(?:[\w.-]+\.)?(?:github\.com|pytorch\.org|nvidia\.com|amd\.com|python\.org|readthedocs\.io|huggingface\.co|githubusercontent\.com"
    r"|docker\.(?:io|com)|kernel\.org|open-mpi\.org|llvm\.org)"
)
NOT_OURS = re.compile(r"127\.|0\.0\.0\.0|255\.|:*1?$")  # loopback, any, masks


def hidden(text: str) -> str:
    """The text with placeholders (host-1, address-1, user-1, job-1, path-1, uuid-1) for what names a machine, a person or a place.

    The same thing has the same placeholder, numbered by its first appearance. A path keeps its last name, what lies in site-packages and
    in the system's own folders is told as it is. Devices, sizes, versions and the names of network cards stay, so the verdict on the hidden
    text is that on the text, but for names. What no place in the text tells to be a name is not hidden: look before you show it.
    """
    return _Hiding(text).done()


class _Hiding:
    """names: those that are hidden wherever they stand. torn: hosts that a torn line has grown at their front, and the true one."""

    def __init__(self, text: str):
        self.text = text
        self.told = list(told_in(text))
        self.kinds: dict[str, str] = {}
        for one in self.told:
            self.kinds.setdefault(one.name, one.kind)
        self.torn = self._torn()
        sure = {one.name for one in self.told if one.sure and not COMMON.fullmatch(one.name)}
        names = sorted(sure, key=len, reverse=True)
        words = "|".join(map(re.escape, names)) or r"(?!)"
        self.words = re.compile(rf"(?<![\w.-])(?:{words})(?![\w-])(?!\.\w)")
        self.numbers: dict[str, dict[str, int]] = {}

    def done(self) -> str:
        parts, at = [], 0
        for span in self._spans():
            if span.start >= at:
                parts += [self.text[at : span.start], self._instead(span)]
                at = span.end
        return "".join([*parts, self.text[at:]])

    def _spans(self) -> list[Told]:
        """In order; of two that begin together the longer one."""
        found = [one._replace(kind=self.kinds[one.name]) for one in self.told]
        found += [Told(*one.span(), self.kinds[one[0]], one[0]) for one in self.words.finditer(self.text)]
        found += _things(self.text)
        return sorted(found, key=lambda one: (one.start, -one.end))

    def _torn(self) -> dict[str, str]:
        """ "53node7" where node7 is known, if it has grown by a number, or stands only behind words of NCCL in its line."""
        hosts = {name for name, kind in self.kinds.items() if kind == HOST}
        before = ((one.name, self.text[max(0, one.start - 300) : one.start].rpartition("\n")[2]) for one in self.told)
        begin = hosts & {name for name, words in before if "NCCL " not in words}
        found = {}
        for name in hosts:
            ends = (
                name[cut:] for cut in range(1, len(name)) if name not in begin or re.fullmatch(r"[\d.]+", name[:cut])
            )
            found[name] = next((end for end in ends if end in begin), "")
        return {name: end for name, end in found.items() if end}

    def _instead(self, span: Told) -> str:
        if span.kind == "url":
            return self._url(span.name)
        if span.kind == PATH:
            return self._path(span.name)
        if span.name in self.torn:
            host = self.torn[span.name]
            return span.name[: -len(host)] + self._placed(HOST, host)
        return self._placed(span.kind, span.name)

    def _placed(self, kind: str, thing: str) -> str:
        numbers = self.numbers.setdefault(kind, {})
        return f"{kind}-{numbers.setdefault(thing, len(numbers) + 1)}"

    def _named(self, text: str) -> str:
        """The known names in it hidden."""
        return self.words.sub(lambda found: self._placed(self.kinds[found[0]], found[0]), text)

    def _path(self, path: str) -> str:
        """Its folder is one thing; of a folder of packages what comes in front of it, of a home nothing but whose it is."""
        if EVERYBODYS.match(path):
            return self._named(path)
        whole = path.rstrip("/\\")
        cut = PACKAGES.search(path)
        split = cut.start() if cut else max(whole.rfind("/"), whole.rfind("\\"))
        folder, last = path[:split], whole[split + 1 :]
        rest = path[split] + self._placed(self.kinds[last], last) if last in self.kinds else self._named(path[split:])
        return f"{folder if not folder or HOMES.fullmatch(folder) else self._placed(PATH, folder)}{rest}"

    def _url(self, url: str) -> str:
        """A public address stays; of others the scheme and the last name."""
        scheme, _, rest = url.partition("://")
        place, _, path = rest.partition("/")
        if PUBLIC.fullmatch(place):
            return url
        host, colon, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
        host = host.rpartition("@")[2].strip("[]")
        kind = ADDRESS if re.fullmatch(r"[\d.]+|[\da-fA-F]*:[\da-fA-F:]+", host) else HOST
        shown = host if NOT_OURS.match(host) or NOBODY.fullmatch(host) else self._placed(kind, host)
        last = path.rstrip("/").rpartition("/")[2]
        return f"{scheme}://{shown}{colon}{port}{'/' + self._named(last) if last else ''}"


def _things(text: str) -> Iterator[Told]:
    for kind, needs, pattern in _THINGS:
        for found in pattern.finditer(text) if needs in text else ():
            group = "guid" if "guid" in pattern.groupindex else 0
            if kind != ADDRESS or _is_ours(found[group]):
                yield Told(*found.span(group), kind, found[group])


def _is_ours(address: str) -> bool:
    parts = address.split(".") if address.count(".") == 3 else []
    return not NOT_OURS.match(address) and all(int(part) < 256 for part in parts)
