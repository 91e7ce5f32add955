"""What a run is called, after its GPUs alone; and it says nothing of whose machine it was made on.

No host, no user, no folder, no address, no serial number of a device.
"""

from __future__ import annotations

import contextlib
import getpass
import re
import socket
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from helpers.records.fields import NAMES
from helpers.yours.places import accelerator_of, why_unknown

FOLDERS = re.compile(r"(?<![\w.:/-])/(?:[\w.@+~-]+/)+")  # of an absolute path, all but its last part
SHORTEST = 4  # letters of a name that is looked for
EVERYBODY = ("root", "user", "ubuntu", "localhost")


@cache
def names() -> tuple[str, ...]:
    """What this host and this user are called, as far as that is said of no other."""
    found = {socket.gethostname(), socket.gethostname().partition(".")[0]}
    with contextlib.suppress(KeyError, OSError):  # a number without a name, as in containers
        found.add(getpass.getuser())
    longest = sorted(found, key=len, reverse=True)
    return tuple(name for name in longest if len(name) >= SHORTEST and name not in EVERYBODY)


def nameless(data: Any) -> Any:
    """The same plain data with all of that taken out of its texts."""
    if isinstance(data, str):
        return _cleaned(data)
    if isinstance(data, dict):
        return {_cleaned(key): nameless(one) for key, one in data.items()}
    return [nameless(one) for one in data] if isinstance(data, list) else data


def _cleaned(text: str) -> str:
    text = FOLDERS.sub("", text)
    patterns = [*NAMES.values(), *(re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") for name in names())]
    for pattern in patterns:
        text = pattern.sub("...", text)
    return text


def run_name(gpus: Sequence[str]) -> str:
    """ "8xh100" of what CUDA calls the GPUs, "cpu" of none."""
    known = {name: None if why_unknown([name]) else accelerator_of(name) for name in gpus}
    kinds = Counter(known[name] or name.removeprefix("NVIDIA ") for name in gpus)
    found = "-".join(f"{count}x{kind}" for kind, count in kinds.items()) or "cpu"
    return re.sub(r"[^a-z0-9]+", "-", found.lower()).strip("-")
