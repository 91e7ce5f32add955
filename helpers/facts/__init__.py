"""What somebody published: accelerators, links, networks and measured tables, each with unit, direction and source."""

from helpers.facts.book import FACTS, LINKS, SOURCES, USERS, lookup
from helpers.facts.fact import Fact, FactError, Source
from helpers.facts.link import Link
from helpers.facts.tables import Table, public, public_names

__all__ = [
    "FACTS",
    "LINKS",
    "SOURCES",
    "USERS",
    "Fact",
    "FactError",
    "Link",
    "Source",
    "Table",
    "lookup",
    "public",
    "public_names",
]
