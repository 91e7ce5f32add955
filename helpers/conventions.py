"""What a number has to say beside its unit, as a bandwidth says its direction: which kind of time, bytes of which types, which FLOPs.

    needs("3.11 ms")            # {"time"}
    conventions("nccl")         # {"time": "nccl"}
    words("time", "nccl")       # "by NCCL's model"

Every value that a lab keeps passes here (helpers.view.keep), and every page that quotes it (website/conventions.py).
"""

from __future__ import annotations

import re

# Of each convention: its keys, unique over all three, and the words that a page has for it. No words: there is nothing to say.
WORDS = {
    "time": {
        "price": "by price",  # alpha, beta and steps: helpers.collectives.price
        "nccl": "by NCCL's model",  # helpers.nccl.predict and seconds
        "clock": "by the step's clock",  # helpers.ledger: computing, calls, what hides
        "timeline": "by the schedule's timeline",  # helpers.pipeline and helpers.overlap, from given times
        "rates": "at line and datasheet rates",  # bytes over a wire's, FLOPs over a peak
        "fitted": "fitted to measurements",
        "measured": "measured",
        "emulated": "measured over an emulated link",
        "published": "published",
        "given": "",  # chosen, not found: a timeout, an exercise's assumption
    },
    "types": {
        "fp32": "all in fp32",
        "bf16": "weights and gradients bf16, states fp32",
        "bf16-fp32grads": "weights bf16, gradients and states fp32",
        "bf16-true": "all in bf16",
        "autocast": "weights, gradients and states fp32, computed in 16 bits",
        "fsdp2": "kept in fp32, gathered in bf16, gradients reduced in fp32",
        "in bf16": "in bf16",
        "in fp64": "in fp64",
        "in fp32": "in fp32",
        "in fp16": "in fp16",
        "in 8 bits": "in 8 bits",
        "size": "",  # asked for, or of a piece of hardware: no numbers of a model lie in it
    },
    "pairs": {
        "all keys": "every query with every key",
        "causal half": "a query with the keys up to its own",
        "no scores": "matrices alone, without scores",
    },
}
KEYS = {key: convention for convention, keys in WORDS.items() for key in keys}
# What a page calls the values that a convention is about.
ABOUT = {"time": "times", "types": "bytes", "pairs": "FLOPs, MFU and HFU"}

_RATE = r"(?:/| per | a )(?:s|second|clock|cycle)\b"
_UNITS = {
    "time": rf"(?:[nµμum]?s|(?:(?:nano|micro|milli)?second|min|minute|(?:GPU[ -])?hour|day)s?|h)\b"
    rf"|(?:[KMGTPE]?FLOPs?|tokens|steps){_RATE}",
    "types": rf"(?:(?:[kKMGTPE]i?|(?<=\s))B|bytes?)\b(?!{_RATE})",
    "pairs": rf"[KMGTPEZ]?FLOPs?\b(?!{_RATE}|(?:/| per )(?:byte|B\b))|%\s?[MH]FU\b",
}
_NUMBER = r"(?<![\w.,])\d[\d.,]*(?:e[+-]?\d+|[⁰¹²³⁴-⁹⁻]+)?"
_NEEDS = {name: re.compile(rf"{_NUMBER}[\s-]?(?:{units})") for name, units in _UNITS.items()}
_UTILIZATION = re.compile(r"(?:^|[_.])[mh]fu(?:[_.]|$)")


class ConventionError(ValueError):
    """A value lacks what it must say, or says what is not there to be said."""


def needs(text: str, name: str = "") -> set[str]:
    """Which conventions a value has to say, by its unit; a share of a peak (MFU, HFU) has none and is known by its name."""
    found = {convention for convention, unit in _NEEDS.items() if unit.search(text)}
    return found | {"pairs"} if _UTILIZATION.search(name) else found


def conventions(*keys: str) -> dict[str, str]:
    """{"time": "nccl"} of "nccl". ConventionError for an unknown key, and for two of one kind."""
    said: dict[str, str] = {}
    for key in keys:
        if key not in KEYS:
            raise ConventionError(f"{key!r} is no convention; there are: {', '.join(KEYS)}")
        if KEYS[key] in said:
            raise ConventionError(f"a value has one {KEYS[key]}, got {said[KEYS[key]]!r} and {key!r}")
        said[KEYS[key]] = key
    return said


def of_value(name: str, text: str, said: dict[str, str]) -> dict[str, str]:
    """The part of `said` that the value `text` needs. ConventionError naming what it does not say."""
    wanted = needs(text, name)
    if missing := sorted(wanted - said.keys()):
        known = "; ".join(f"{one}: {', '.join(WORDS[one])}" for one in missing)
        raise ConventionError(f"{name}: {text!r} does not say its {' and '.join(missing)} ({known})")
    return {convention: said[convention] for convention in WORDS if convention in wanted}


def words(convention: str, key: str) -> str:
    """As a page says it, "" where there is nothing to say."""
    return WORDS[convention][key]
