"""The exercises on meshes where real ranks judge: the page's solutions are accepted, and what paper alone would accept is not."""

from dataclasses import replace
from math import prod

from solutions import solutions

from helpers.exercises import meshes
from helpers.exercises.meshes import groups_of, repaired
from helpers.parallel.meshes import PipelineAxes

SOLVED = solutions("meshes", prod=prod, PipelineAxes=PipelineAxes)


def test_the_solutions_of_the_page(ranks):
    assert str(groups_of(SOLVED["my_groups"], ranks)).startswith("Solved. On paper for 6 meshes, and on")
    assert str(repaired(SOLVED["my_mesh"], ranks)).startswith("Solved. Equal to one process")


def test_groups_that_are_right_on_paper_alone_are_refused_by_torch(ranks):
    """It knows what is asked on paper, and not what torch has."""

    def learnt(axes, name):
        return SOLVED["my_groups"](axes, name) if axes != {"pipeline": 4} else [[0, 1], [2, 3]]

    assert "{'pipeline': 4}, pipeline: you say (0, 1) (2, 3), it is (0, 1, 2, 3)" in str(groups_of(learnt, ranks))


def test_a_mesh_whose_ranks_end_elsewhere_is_refused(ranks, monkeypatch):
    """Another seed on the ranks stands for a mesh that trains something else."""
    job = meshes.job()
    monkeypatch.setattr(meshes, "train", lambda training: train_other(job))
    assert "away from one process" in str(repaired(SOLVED["my_mesh"], ranks))


def train_other(job):
    from helpers.parallel import train

    return train(replace(job, seed=1))
