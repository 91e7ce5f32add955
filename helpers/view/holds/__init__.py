"""Who holds what: a recorded training step of four ranks, moment by moment, one way to share out beside another."""
