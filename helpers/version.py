"""The version of the course and of its library."""

VERSION = "0.1.0"
