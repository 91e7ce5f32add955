"""Guesses on the page: what is asked, what it is held against, and what waits until it was made."""
