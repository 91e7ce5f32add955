"""Watching memory for real: the tracker, the prediction without the memory, the ladder of bandwidths."""
