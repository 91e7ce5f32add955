"""All facts of the course, read once: accelerators, links, networks, who uses which algorithm, each with its source.

Chapters: units, ring, interconnects; the `fact` role of the website.
"""

from __future__ import annotations

from difflib import get_close_matches

from helpers.facts.accelerator import Accelerator, build_accelerators
from helpers.facts.fact import Fact, build_facts, build_sources, read, spread
from helpers.facts.link import Link, build_links
from helpers.facts.machine import Machine, build_machines
from helpers.facts.model import Model, build_models
from helpers.facts.run import Run, build_runs

SOURCES = build_sources(read("sources"))
USERS = build_sources(read("users"))
PAPERS = build_sources(read("papers"))
CHIPS, CAPABILITIES, BUILDS, TRAINED = read("chips"), read("capabilities"), read("machines"), read("runs")
PRODUCTS = read("products")
FACTS: dict[str, Fact] = build_facts(
    read("accelerators")
    | read("links")
    | spread(read("wires"))
    | read("software")
    | TRAINED["facts"]
    | spread(CHIPS)
    | spread(read("processors"))
    | read("rent")
    | spread(CAPABILITIES, "cc-")
    | spread(BUILDS)
    | spread(PRODUCTS),
    SOURCES,
)
LINKS: dict[str, Link] = build_links(read("networks"), FACTS)
ACCELERATORS: dict[str, Accelerator] = build_accelerators(CHIPS, FACTS)
MACHINES: dict[str, Machine] = build_machines(BUILDS, FACTS, ACCELERATORS)
MODELS: dict[str, Model] = build_models(read("models"), SOURCES)
RUNS: tuple[Run, ...] = build_runs(TRAINED, MODELS, SOURCES)


def lookup(key: str) -> Fact:
    """The fact of that name, e.g. lookup("H100.nvlink"); KeyError naming close matches."""
    if key in FACTS:
        return FACTS[key]
    close = get_close_matches(key, FACTS, n=4, cutoff=0.4)
    raise KeyError(f"no fact {key!r}; " + (f"close: {', '.join(close)}" if close else f"there are: {', '.join(FACTS)}"))
