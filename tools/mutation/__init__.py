"""What `python -m tools.mutants` is made of: operators, the draw, the tests that reach a place, a sandbox, the judge, the table."""
