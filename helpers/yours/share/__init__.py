"""A text and its verdict, to be handed on: without names of hosts, people and places, and as something to paste. Chapter: yours."""
