"""The catalogue: every algorithm, by (collective, algorithm). One file per family.

What is said of an algorithm stands in the decorator above its builder (`about`); a file that is new here is one more of FAMILIES.
"""

from ..about import collected
from . import bidirectional, bruck, exchange, flat, halving, hierarchical, ring, switch, tree, trees
from .shapes import double_tree

# As pages list them
FAMILIES = (ring, flat, tree, bidirectional, trees, halving, exchange, bruck, switch, hierarchical)
CATALOGUE = collected(FAMILIES)

__all__ = ["CATALOGUE", "FAMILIES", "double_tree"]
