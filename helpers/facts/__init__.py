"""What somebody published: accelerators, links, networks and measured tables, each with unit, direction and source."""

from helpers.facts import fit
from helpers.facts.accelerator import DTYPES, Accelerator
from helpers.facts.book import (
    ACCELERATORS,
    FACTS,
    LINKS,
    MACHINES,
    MODELS,
    PAPERS,
    PRODUCTS,
    RUNS,
    SOURCES,
    USERS,
    lookup,
)
from helpers.facts.fact import Fact, FactError, Source
from helpers.facts.link import Link
from helpers.facts.machine import Machine
from helpers.facts.model import Latent, Model
from helpers.facts.tables import Table, public, public_names

__all__ = [
    "ACCELERATORS",
    "DTYPES",
    "FACTS",
    "LINKS",
    "MACHINES",
    "MODELS",
    "PAPERS",
    "PRODUCTS",
    "RUNS",
    "SOURCES",
    "USERS",
    "Accelerator",
    "Fact",
    "FactError",
    "Latent",
    "Link",
    "Machine",
    "Model",
    "Source",
    "Table",
    "fit",
    "lookup",
    "public",
    "public_names",
]
