"""A schedule drawn, typed and checked by hand."""
