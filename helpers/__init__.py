"""Bytes in Motion: the library that the notebooks import. Floors, bottom up: units and facts; collectives; ranks; exercises; view."""
