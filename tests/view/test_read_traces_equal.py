"""The page reads traces of torch's profiler as Python does: every field, sum and refusal, on a real one, made ones and damaged ones."""

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from read_equal import answer, numbers, unequal

from helpers.nccl import KinetoError, parse_kineto, together

OUTPUT = Path(__file__).parents[1] / "nccl" / "output"
sys.path.insert(0, str(OUTPUT))
from damage import FAULTS  # noqa: E402
from made_traces import some_cpu_rank, some_gpu_rank, text  # noqa: E402
from test_kineto import REAL, mutated, small  # noqa: E402

SCRIPT = Path(__file__).with_name("play_traces.mjs")
FIELDS = ("rank", "world_size", "backend", "nccl", "gpus", "wall", "began", "events", "steps", "lanes", "collectives")


def told(read):
    parts = [read.breakdown(device, step) for device in read.devices for step in (None, *read.steps)]
    found = {name: getattr(read, name) for name in FIELDS} | {"devices": read.devices, "loading": read.loading}
    return found | {"parts": parts, "most": [one.place for one in read.longest(5)]}


def ranks(reads):
    found = together(reads)
    each = [(found.waited(rank), found.caused(rank)) for rank in found.traces]
    last = [found.last().get(rank, 0) for rank in found.traces]
    return {"held": found.held, "unmatched": found.unmatched, "each": each, "last": last}


def read_all(sources):
    reads = [parse_kineto(source) for source in sources]
    return {"reads": [told(read) for read in reads], "ranks": ranks(reads) if len(reads) > 1 else None}


def several(make, chance):
    """Ranks of one run, now and then of two, or one of them twice."""
    rows = [json.loads(make(chance)) for _ in range(chance.randint(2, 3))]
    for rank, row in enumerate(rows):
        row["distributedInfo"]["rank"] = rank if chance.random() < 0.95 else 0
        row["distributedInfo"]["world_size"] = 2 if chance.random() < 0.95 else 4
    return [json.dumps(row) for row in rows]


def cases(count):
    chance = random.Random(20261124)
    whole = small()
    texts = [json.dumps(one, indent=1) for one in whole]
    found = [[gzip.decompress(REAL.read_bytes()).decode()], ["{"], [""], ["[]"], ['{"traceEvents": [é, ]}'], [text()]]
    for _ in range(count):
        make = chance.choice((some_gpu_rank, some_cpu_rank))
        found += [[make(chance)], several(make, chance)]
        found.append([json.dumps(mutated(chance.choice(whole), chance))])
        found.append([chance.choice(FAULTS)(chance.choice(texts), chance)])
    return found


def played(node, tmp_path, made):
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    done = subprocess.run([node, SCRIPT, path], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [numbers(json.loads(line)) for line in done.stdout.decode().splitlines()]


@pytest.mark.parametrize("count", [260, pytest.param(2_000, marks=pytest.mark.matrix("eight thousand sets of traces"))])
def test_traces_are_read_alike(node, tmp_path, count):
    made = cases(count)
    mine = [answer(read_all, sources, KinetoError) for sources in made]
    assert unequal(mine, played(node, tmp_path, made)) == []
    values = [one["value"] for one in mine if "value" in one]
    assert len(values) > count and len(mine) - len(values) > count / 2
    assert sum(bool(one["ranks"] and one["ranks"]["held"]) for one in values) > count / 20
