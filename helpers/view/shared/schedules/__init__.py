"""Schedules as widgets get them: which one is meant, its text, what is promised."""
