"""Memory on paper: every formula is the sum of a list of tensors that a reader can open."""

from helpers.memory.closed_form.activations import activations
from helpers.memory.closed_form.cache import inference, kv_cache, per_token
from helpers.memory.closed_form.states import fsdp2_states, padded, per_parameter, states
from helpers.memory.closed_form.step import Step, step
from helpers.memory.closed_form.terms import FormError, Operator, Term, Terms

__all__ = [
    "FormError",
    "Operator",
    "Step",
    "Term",
    "Terms",
    "activations",
    "fsdp2_states",
    "inference",
    "kv_cache",
    "padded",
    "per_parameter",
    "per_token",
    "states",
    "step",
]
