#!/usr/bin/env bash
# torch 2.13.0: does asking for an optimizer's state before the first step, as a job does that may resume, change the training?
# Expected: no. get_optimizer_state_dict reads, and Adam's first step moves each weight by the learning rate.
# Seen: it makes the state by a step with gradients of zero, and leaves that step counted. So the first real step is the second: Adam's bias
# correction takes two steps for done, and each weight moves by 0.744 times the learning rate.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/step.py" <<'PY'
import torch
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict


def first(asked):
    model = torch.nn.Linear(4, 4, bias=False)
    torch.nn.init.zeros_(model.weight)
    adam = torch.optim.Adam(model.parameters(), lr=1.0)
    if asked:
        get_optimizer_state_dict(model, adam)
    model(torch.ones(1, 4)).sum().backward()
    adam.step()
    return model.weight.abs().mean().item(), adam.state[model.weight]["step"].item()


plain, asked = first(False), first(True)
print(f"moved by {plain[0]:.3f} lr in step {plain[1]:g}; asked before: {asked[0]:.3f} lr in step {asked[1]:g}")
assert abs(plain[0] - 1) < 1e-3 and plain[1] == 1 and abs(asked[0] - 0.744) < 1e-3 and asked[1] == 2
PY
"$folder/venv/bin/python" "$folder/step.py"
echo "as stated"
