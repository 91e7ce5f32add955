"""The pipeline player: a schedule's computations, messages, bubble and held activations over one time."""

from helpers.view.pipeline.spec import PipelineSpec, pipeline_spec
from helpers.view.pipeline.widget import PipelineWidget, explore_pipeline, pipeline_html
from helpers.view.pipeline.words import pipeline_sentence

__all__ = [
    "PipelineSpec",
    "PipelineWidget",
    "explore_pipeline",
    "pipeline_html",
    "pipeline_sentence",
    "pipeline_spec",
]
