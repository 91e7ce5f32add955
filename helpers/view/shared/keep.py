"""keep(...): what a lab computed and its chapter quotes. The chapter cites by name, so no number on a page is typed. Every lab."""

from __future__ import annotations

from IPython.display import display

from helpers.conventions import conventions, of_value, words

MIME = "application/vnd.bytes-in-motion.values+json"
# {name: {"time": "nccl"}} of those values that have to say one
SAID = "application/vnd.bytes-in-motion.conventions+json"


def keep(*said: str, **values: str) -> None:
    """Display values as one output that the page's {lab} role reads and nbval compares. Texts only: the lab rounds and names units.

    said: the conventions of these values, keys of helpers.conventions: keep("nccl", "in bf16", ring="3.1 ms for 12.6 GiB").
    ValueError for a value that is no text or is empty, that needs a convention and has none, and for a convention that no value needs.
    """
    for name, value in values.items():
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name}: a kept value is a text with its unit, as the page prints it, got {value!r}")
    told = conventions(*said)
    found = {name: of_value(name, value, told) for name, value in values.items()}
    if idle := [told[one] for one in told if not any(one in each for each in found.values())]:
        raise ValueError(f"no value of {', '.join(values)} has to say {', '.join(map(repr, idle))}")
    lines = [f"{name}: {value}{_behind(found[name])}" for name, value in values.items()]
    kept: dict[str, object] = {MIME: values, "text/plain": "\n".join(lines)}
    if has := {name: each for name, each in found.items() if each}:
        kept[SAID] = has
    display(kept, raw=True)


def _behind(found: dict[str, str]) -> str:
    said = [words(*one) for one in found.items() if words(*one)]
    return f"  ({'; '.join(said)})" if said else ""
