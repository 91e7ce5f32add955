"""Imported by Python itself in every process of the fake machine: waits for torch and pynvml, and has the fake change them."""

import importlib
import importlib.abc
import importlib.util
import os
import sys
from pathlib import Path

CHANGED = {"torch": "install", "pynvml": "nvml"}


class Loader(importlib.abc.Loader):
    """The module's own, and then ours."""

    def __init__(self, real, ours):
        self.real, self.ours = real, ours

    def create_module(self, spec):
        return self.real.create_module(spec)

    def exec_module(self, module):
        self.real.exec_module(module)
        module.__spec__.loader = self.real
        sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
        try:
            importlib.import_module(f"fake_cuda.{self.ours}").install(module)
        finally:
            sys.path.pop(0)


class Finder(importlib.abc.MetaPathFinder):
    """Finds what the others find."""

    def find_spec(self, name, path=None, target=None):
        if name not in CHANGED:
            return None
        ours = CHANGED.pop(name)  # so that the next line asks the others
        spec = importlib.util.find_spec(name)
        CHANGED[name] = ours
        if spec is not None:
            spec.loader = Loader(spec.loader, ours)
        return spec


if "FAKE_CUDA_GPUS" in os.environ:
    sys.meta_path.insert(0, Finder())
