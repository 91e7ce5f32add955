"""Python's side of a page's blocks: runs them, hands on what they show, and stands in for what a page lacks. Natively nothing changes."""

from helpers.page.cells import run
from helpers.page.outputs import shown

__all__ = ["run", "shown"]
