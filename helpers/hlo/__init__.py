"""What XLA has compiled, read from its text: which collectives the compiler put in, among whom, and how many bytes. Chapter: annotations.

    found = parse_hlo_collectives(compiled.as_text())    # of jax.jit(step).lower(...).compile()
    print(found)
    found.by_op(), found.sent(rank=0)

Nothing of JAX or XLA is needed to read the text. Damaged text is refused: an HloError with the line.
"""

from helpers.hlo.collectives import Collective, Compiled, parse_hlo_collectives
from helpers.hlo.text import HloError, Module, read_module

__all__ = ["Collective", "Compiled", "HloError", "Module", "parse_hlo_collectives", "read_module"]
