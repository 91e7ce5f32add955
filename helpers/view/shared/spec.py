"""A widget's state as frozen plain data, and as the JSON that the page and the kernel's widget are given. Every widget."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Self


@dataclass(frozen=True)
class Spec:
    """A subclass has a field for every name that the page knows, in the page's order; a field holds plain data or another Spec."""

    def left_out(self) -> Collection[str]:
        """The fields that the page is not given."""
        return ()

    def as_json(self) -> dict:
        """{name: value} as the page takes it."""
        gone = self.left_out()
        told = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in gone}
        return {name: value.as_json() if isinstance(value, Spec) else value for name, value in told.items()}

    @classmethod
    def read(cls, data: Mapping[str, object]) -> Self:
        """The spec that a page sends, unchecked; what it holds beside the fields is not looked at. TypeError where one is missing."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in data.items() if name in names})
