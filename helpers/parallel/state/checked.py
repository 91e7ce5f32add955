"""What is wrong with a checkpoint, told before anything of it is loaded. Chapter: sharded."""

from __future__ import annotations

from pathlib import Path

from torch.distributed.checkpoint import FileSystemReader, Metadata
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

from .folders import latest
from .planners import State

LAST = ".metadata"  # torch writes it when all ranks have written
SHOWN = 3  # names of tensors in an error


def refusal(state: State, folder: Path) -> str | None:
    """Why `folder` cannot be loaded into `state`; None where nothing is known against it."""
    try:
        metadata = described(folder)
    except ValueError as error:
        return str(error)
    return damaged(folder, metadata) or another(state, metadata, folder)


def described(folder: Path) -> Metadata:
    """What a checkpoint says of itself. ValueError where it says nothing. A pickle: load what you have saved, not what you were sent."""
    if not (folder / LAST).exists():
        whole = latest(folder.parent)
        instead = f"; the last whole one there is {whole.name}" if whole else ""
        raise ValueError(f"{folder} is no whole checkpoint: it has no {LAST}, which is written last{instead}")
    try:
        return FileSystemReader(folder).read_metadata()
    except Exception as error:
        raise ValueError(f"{folder / LAST} is damaged: {error}") from error


def files(metadata: Metadata) -> dict[str, int]:
    """Bytes that each file has at least."""
    ends: dict[str, int] = {}
    for place in metadata.storage_data.values():
        ends[place.relative_path] = max(ends.get(place.relative_path, 0), place.offset + place.length)
    return ends


def damaged(folder: Path, metadata: Metadata) -> str | None:
    """A file that is missing or too short."""
    for name, nbytes in sorted(files(metadata).items()):
        path = folder / name
        size = path.stat().st_size if path.exists() else None
        if size is None or size < nbytes:
            return f"{path} is damaged: {nbytes:,} bytes expected, {'none' if size is None else f'{size:,}'} there"
    return None


def another(state: State, metadata: Metadata, folder: Path) -> str | None:
    """Tensors of another model or another optimizer: what torch would leave out, and the types that it would cast, without a word."""
    saved = metadata.state_dict_metadata
    unlike = [
        *(f"{name} is not saved" for name in sorted(state.keys() - saved.keys())),
        *(f"{name} is not here" for name in sorted(saved.keys() - state.keys())),
        *(
            f"{name} {told}"
            for name in sorted(state.keys() & saved.keys())
            if (told := _unlike(state[name], saved[name]))
        ),
    ]
    if not unlike:
        return None
    more = f", and {len(unlike) - SHOWN} more" if len(unlike) > SHOWN else ""
    return f"{folder} is of another model or optimizer: {', '.join(unlike[:SHOWN])}{more}"


def _unlike(one: object, saved: object) -> str | None:
    if not isinstance(saved, TensorStorageMetadata):
        return "is no tensor there"
    if saved.size != one.size():
        return f"has shape {tuple(one.size())} here and {tuple(saved.size)} there"
    if saved.properties.dtype != one.dtype:
        return f"is {one.dtype} here and {saved.properties.dtype} there"
    return None
