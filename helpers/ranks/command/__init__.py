"""The words behind `python -m helpers.ranks`: its options, the bench, its sweeps, its hosts. Chapter: benchmarking."""
