"""What is predicted for a pipeline's rank under FSDP2: torch's fully_shard, told what torch's own stages tell it, on four Gloo ranks."""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from dataclasses import replace
from functools import partial
from unittest import mock

import pytest
import torch
from drawn import GPT, LLAMA, Case, same_within, sizes, watched
from lanes import some
from test_predict_pipeline import Stage

from helpers.facts import Model
from helpers.ledger import SETUPS
from helpers.ledger.states import state_traffic
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Parts, Sharding
from helpers.measure.sharding.fsdp2 import units
from helpers.measure.sharding.fsdp2.stages import moves
from helpers.measure.sharding.part import Part
from helpers.measure.sharding.pipeline import schedule
from helpers.measure.step import checkpointing
from helpers.measure.step.precision import FSDP2
from helpers.memory import Trace
from helpers.parallel.counting import Moved, counted
from helpers.parallel.pipeline.runner import Runner
from helpers.parallel.zero.watched import unsharded
from helpers.pipeline import peak
from helpers.ranks import Ranks

DATA, PIPELINE = 2, 2
TEAM, TEAMS = 2, ("replicate", "shard")


def draw(seed: int) -> Case:
    rng = random.Random(f"fsdp2 pipeline {seed}")
    heads, llama, virtual = rng.choice([2, 3]), rng.random() < 0.6, [1, 2, 1, 3, 1, 4][seed % 6]
    widths = sizes(rng)
    shape = Model(
        f"drawn by {seed}",
        layers=PIPELINE * virtual * rng.randint(1, 2 if virtual < 3 else 1),
        heads=heads,
        kv_heads=rng.choice([1, heads]),
        head_dim=2 * rng.randint(2, 5),
        context=64,
        **(LLAMA if llama else GPT),
        **widths,
    )
    micro_batches = PIPELINE * rng.randint(1, 3) if virtual > 1 else rng.randint(1, 5)
    plan = Sharding(data=DATA, zero=rng.choice([2, 3]), pipeline=PIPELINE, virtual=virtual, micro_batches=micro_batches)
    how = {"precision": rng.choice([*FSDP2]), "checkpoint": rng.choice(["none", "per-op", "full"])}
    return Case(shape, rng.randint(1, 2), rng.randint(5, 30), plan, how)


class Sharded(Stage):
    """A stage under fully_shard, told before each backward and after the last one what torch's stages tell it."""

    def backward(self, microbatch, dy):
        self.module.set_is_last_backward(False)
        self.module.set_reshard_after_backward(False)
        self.module.set_requires_gradient_sync(False)
        return super().backward(microbatch, dy)

    def reduce(self):
        from torch.distributed.pipelining.stage import _PipelineStageBase

        self.submod = self.module
        _PipelineStageBase.perform_reduce_grad(self, 1)

    def empty(self):
        return torch.empty(*self.batch[0].shape, self.module.hidden, dtype=self.compute)


class Told(Runner):
    """Plays the program; before its computations what torch would put there. A send is over before the next action."""

    def step(self):
        before, computed = told(self.program) if len(self.stages) > 1 else {}, 0
        left = {stage: 2 if stage else 1 for stage in self.stages}
        last = self.schedule.nmicrobatches - 1
        self.handles = defaultdict(list)
        self.tell(before.pop(0, []))
        for action in self.program:
            if action.computes:
                self.tell(before.get(computed, []))
                computed += 1
                for handle in self.handles.pop(action.stage, []):
                    handle.wait()
            self.do[action.kind](action)
            if action.kind in ("B", "SEND_B") and action.microbatch == last:
                left[action.stage] -= 1
                if not left[action.stage]:
                    self.stages[action.stage].reduce()

    def tell(self, actions):
        from torch.distributed.fsdp import FSDPModule

        for one in actions:
            for module in self.stages[one.stage_index].module.modules():
                if isinstance(module, FSDPModule) and one.computation_type.name == "UNSHARD":
                    self.handles[one.stage_index].append(module.unshard(async_op=True))
                elif isinstance(module, FSDPModule):
                    module.reshard()

    def _send(self, action):
        super()._send(action)
        for work, _ in self.leaving:
            work.wait()
        self.leaving.clear()


def told(program) -> dict[int, list]:
    """Before which computation torch's own schedules would gather or drop which parts."""
    from torch.distributed.pipelining.schedules import _Action, _add_unshard_reshard, _ComputationType

    found, computed = defaultdict(list), 0
    plain = [_Action.from_str(str(one)) for one in program if one.computes]
    for one in _add_unshard_reshard(plain):
        if one.computation_type in (_ComputationType.UNSHARD, _ComputationType.RESHARD):
            found[computed].append(one)
        else:
            computed += 1
    return dict(found)


def shard(part: Part, plan: Sharding, precision: str, mesh) -> None:
    """As torchtitan does: zero=2 its default in a pipeline, zero=3 its "always"."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = FSDP2[precision]
    how = {"mesh": mesh, "mp_policy": MixedPrecisionPolicy(policy.compute, policy.reduce, cast_forward_inputs=False)}
    for modules, _ in units(part):
        fully_shard(modules if len(modules) > 1 else modules[0], reshard_after_forward=plan.zero == 3, **how)
    fully_shard(part, **how)


def real(case: Case) -> Trace:
    """This rank's second step, watched."""
    from torch.distributed.device_mesh import init_device_mesh

    torch.set_num_threads(1)
    sizes, names = ((PIPELINE, TEAM, TEAM), TEAMS) if case.plan.team else ((PIPELINE, DATA), ("data",))
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=("stage", *names))
    plan = replace(case.plan, stage=mesh.get_local_rank("stage"))
    parts = [Part(case.shape, one, "math", device="cpu") for one in plan.parts]
    model = checkpointing.apply(Parts(parts, plan), case.how["checkpoint"])
    for part in parts:
        shard(part, plan, case.how["precision"], mesh[names])
    adam = torch.optim.AdamW(model.parameters(), foreach=False)
    batch = tuple(torch.zeros(case.batch, case.seq, dtype=torch.int64) for _ in range(2))
    with torch.no_grad():
        _ = [p.zero_() for p in model.parameters()]
    how = plan, case.how["precision"], parts, adam, batch, mesh.get_group("stage")
    told = lambda watch: watch.register(list(unsharded(model)), "communication")  # noqa: E731
    return watched(model, adam, batch, told, partial(step, *how))


def step(plan, precision, parts, adam, batch, group, mark) -> None:
    import torch.distributed as dist

    made = schedule(PIPELINE, plan.micro_batches, plan.virtual)
    most, waiting, seen = peak(made)[dist.get_rank(group)], {}, []

    def full():
        if len(waiting) == most and not seen:
            seen.append(mark(STAGES[0]))

    stages = {one.sharding.stage: Sharded(one, batch, waiting, full) for one in parts}
    for one in stages.values():
        one.compute = FSDP2[precision].compute
    Told(made, stages, group).step()
    mark(STAGES[1])
    adam.step()
    mark(STAGES[2])
    adam.zero_grad()
    mark(STAGES[3])


@pytest.mark.parametrize("seed", some(range(24), [8, 9], "twenty-two more setups"))
def test_the_bytes_of_fully_shard_in_a_pipeline(ranks, seed):
    case = draw(seed)
    traces = ranks.run(real, case)
    for stage in range(PIPELINE):
        same_within(replace(case, plan=replace(case.plan, stage=stage)), traces[stage * DATA])


def counts(case: Case) -> Moved:
    """Of this rank's second step."""
    with mock.patch.object(sys.modules[__name__], "watched", second_counted):
        return real(case)


def second_counted(model, adam, batch, told, step) -> Moved:
    step(lambda name: None)
    with counted() as moved:
        step(lambda name: None)
    return moved


@pytest.mark.parametrize("zero", [2, 3])
@pytest.mark.parametrize("micro_batches", [1, 2, 5])
def test_the_calls_of_fully_shard_in_a_pipeline_are_the_ledger_s(ranks, zero, micro_batches):
    """What a backward has gathered serves the next forward, and gradients are reduced once."""
    shape = Model("small", layers=4, heads=2, head_dim=8, hidden=16, ffn=32, vocab=64, context=64)
    plan = Sharding(data=DATA, zero=zero, pipeline=PIPELINE, micro_batches=micro_batches)
    found = ranks.run(counts, Case(shape, 1, 8, plan, {"precision": "fsdp2", "checkpoint": "none"}))
    for stage in range(PIPELINE):
        setup = replace(SETUPS["70B"], model=shape)
        said = list(state_traffic(setup, replace(plan, stage=stage), "fsdp2"))
        for op, each in (("all_gather", DATA), ("reduce_scatter", 1)):
            calls = [one for one in said if one.collective == op]
            moved = found[stage * DATA]
            assert moved.ncalls(op) == sum(one.times for one in calls)
            assert moved.nbytes(op) == sum(one.nbytes * one.times for one in calls) // each


@pytest.mark.matrix("eight ranks")
def test_the_bytes_of_teams_in_a_pipeline():
    with Ranks(2 * TEAM * PIPELINE, backend="gloo", timeout=120) as eight:
        for seed in range(6):
            case = draw(seed)
            case = replace(case, plan=replace(case.plan, data=2 * TEAM, team=TEAM, zero=3))
            traces = eight.run(real, case)
            for stage in range(PIPELINE):
                same_within(replace(case, plan=replace(case.plan, stage=stage)), traces[stage * 2 * TEAM])


@pytest.mark.parametrize("virtual", [2, 3, 4, 5])
def test_parts_are_gathered_and_dropped_where_torch_does(virtual):
    for program in schedule(2, 6, virtual).programs:
        computes = [at for at, one in enumerate(program) if one.computes]
        want = defaultdict(lambda: ([], []))
        for i, actions in told(program).items():
            for one in actions:
                kind = one.computation_type.name == "UNSHARD"
                want[computes[i] if 0 < i < len(computes) else min(i, 1) * len(program)][kind].append(one.stage_index)
        want.pop(len(program))  # behind the last computation: all is freed by then
        assert {at: tuple(map(sorted, both)) for at, both in moves(program).items()} == {
            at: tuple(map(sorted, both)) for at, both in want.items()
        }
