"""Where a step is: which module's forward or backward runs, and which phase it is.

Forward: the stack of modules. Backward: every autograd node carries a number that only grows (its sequence number), so the
numbers at a module's entry and exit say which module made a node. Chapters: training-memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

graph_task = torch._C._current_graph_task_id  # -1 outside of backward
current_node = torch._C._current_autograd_node
next_number = torch.autograd._get_sequence_nr
NO_BACKWARD = -1
ACCUMULATES = 2**64 - 1  # the number of every AccumulateGrad node: those belong to a parameter, not to a moment


class Place:
    """The module and the phase of now. It knows modules and parameters by id and keeps none of them alive."""

    def __init__(self, model: nn.Module) -> None:
        self.names = {id(module): name for name, module in model.named_modules()}
        owned = ((p, name) for name, module in model.named_modules() for p in module.parameters(recurse=False))
        self.owners: dict[int, str] = {}
        for parameter, name in owned:
            self.owners.setdefault(id(parameter), name)
        self.stack: list[str] = []
        self.named: list[str] = []
        self.after = ""
        self._step = self._no_step = object()
        self._starts, self._modules = [0], [""]
        self._last = ""

    def owner(self, parameter: torch.Tensor) -> str | None:
        """The first module that holds the parameter; None if none does."""
        return self.owners.get(id(parameter))

    def now(self) -> tuple[str, str]:
        """(module, phase). It runs once per event."""
        task, stack = graph_task(), self.stack
        if task != NO_BACKWARD:
            self.after = ""
            phase = "step" if task == self._step and not stack else "backward"
            module = stack[-1] if stack else self._backward_of()
        elif stack:
            module, phase = stack[-1], "forward"
        else:
            module, phase = "", "step" if task == self._step else self.after
        return module, self.named[-1] if self.named else phase

    def _backward_of(self) -> str:
        """The module whose node runs; between two nodes (where the first one's tensors are freed) still the first one's."""
        node = current_node()
        if node is not None:
            number = node._sequence_nr()
            if number < ACCUMULATES:
                self._last = self._modules[bisect_right(self._starts, number) - 1]
            elif hasattr(node, "variable"):
                self._last = self.owners.get(id(node.variable), self._last)
        return self._last

    def enter(self, module: nn.Module, _inputs: object) -> None:
        """Forward pre-hook of every module. A module that is not the model's counts as part of the one that calls it."""
        outer = self.stack[-1] if self.stack else ""
        self.stack.append(self.names.get(id(module), outer))
        self._boundary(self.stack[-1])

    def leave(self, module: nn.Module, _inputs: object, _output: object) -> None:
        """Forward hook of every module. It returns None: anything else would replace the module's output."""
        if self.stack:
            self.stack.pop()
        self._boundary(self.stack[-1] if self.stack else "")
        if not self.stack and graph_task() == NO_BACKWARD and self._step is self._no_step:
            self.after = "forward"  # the loss belongs to it, too

    def _boundary(self, name: str) -> None:
        number = next_number()
        if number >= self._starts[-1]:
            self._starts.append(number)
            self._modules.append(name)

    def begin_step(self) -> None:
        """The optimizer's step begins, perhaps inside of backward."""
        self._step, self.after = graph_task(), ""

    def end_step(self) -> None:
        """The optimizer's step is over."""
        self._step = self._no_step

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Everything inside belongs to the phase `name`, whatever else it is."""
        self.named.append(name)
        try:
            yield
        finally:
            self.named.pop()
            self.after = ""
