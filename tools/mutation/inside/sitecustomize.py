"""Imported by every Python that starts with this folder on PYTHONPATH: notes reach where that is asked for."""

import os

import functions_reached

if os.environ.get(functions_reached.FOLDER):
    functions_reached.start()
