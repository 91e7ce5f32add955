"""Ranks on axes: which ranks form a group, what runs on it, which link it crosses."""
