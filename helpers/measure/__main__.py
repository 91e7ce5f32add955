"""The article's profiling script done right: seven stages, the true peak, where it sits and what it is made of.

python -m helpers.measure --batch 8 --seq 512 --device cpu
python -m helpers.measure --like-cuda --precision bf16 --layers 24 --width 2048 --heads 16 --ffn 8192 --json step.json --plot step.svg
python -m helpers.measure record              writes the traces that the book replays
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from helpers.measure.profiling.plot import svg
from helpers.measure.profiling.stages import profile_step
from helpers.step import precision
from helpers.step.recipe import CHECKPOINTS, DEVICES, Recipe, RecipeError


def arguments(given: list[str]) -> argparse.Namespace:
    """The options; argparse says what is wrong in one line and ends with 2."""
    parser = argparse.ArgumentParser(prog="python -m helpers.measure", description=__doc__.partition("\n")[0])
    for name, says in (
        ("layers", "blocks of the transformer"),
        ("width", "of the model (d_model)"),
        ("heads", "of attention"),
        ("ffn", "width of the feed-forward layer"),
        ("batch", "sequences in the batch"),
        ("seq", "tokens in a sequence"),
        ("steps", "training steps"),
    ):
        parser.add_argument(f"--{name}", type=int, default=getattr(Recipe, name), help=f"{says} (%(default)s)")
    parser.add_argument("--dropout", type=float, default=Recipe.dropout, help="probability (%(default)s)")
    parser.add_argument("--precision", choices=tuple(precision.PRECISIONS), default=Recipe.precision)
    parser.add_argument("--optimizer", choices=precision.OPTIMIZERS, default="", help="default: AdamW as torch runs it")
    parser.add_argument("--checkpoint", choices=CHECKPOINTS, default=Recipe.checkpoint, help="recompute in backward")
    parser.add_argument("--device", choices=DEVICES, default=None, help="default: cuda, else cpu; meta needs no memory")
    parser.add_argument("--like-cuda", action="store_true", help="on meta, with the operators that CUDA would run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write stages, peak and every event")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a picture (SVG)")
    return parser.parse_args(given)


def recipe(options: argparse.Namespace) -> Recipe:
    """The step that was asked for. RecipeError."""
    settings = {field.name: getattr(options, field.name) for field in fields(Recipe)}
    if options.device is None:
        import torch

        settings["device"] = "meta" if options.like_cuda else "cuda" if torch.cuda.is_available() else "cpu"
    return Recipe(**settings)


def main(given: list[str]) -> int:
    """Run the command; the exit code."""
    if given[:1] == ["record"]:
        from helpers.measure.profiling import record

        return record.main(given[1:]) or 0
    options = arguments(given)
    try:
        asked = recipe(options)
        for path in (options.json, options.plot):
            if path is not None and not path.resolve().parent.is_dir():
                raise RecipeError(f"no folder to write {path} into")
    except RecipeError as error:
        print(f"python -m helpers.measure: {error}", file=sys.stderr)
        return 2
    profile = profile_step(asked)
    print(profile)
    if options.json:
        options.json.write_text(profile.to_json(), encoding="utf-8")
    if options.plot:
        options.plot.write_text(svg(profile.trace, asked.label), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
