"""The layouts as JAX shardings. A program of its own, which `by_jax` starts: a job as JSON comes in, an answer as JSON goes out.

It imports jax and numpy and nothing of this library, so it starts without torch, and no other process ever holds JAX. Shardings go in
with the arrays, `jax.jit` compiles the step for all devices at once, and the text that XLA made of it goes out. Chapter: annotations.
"""

import json
import sys
import time


def main() -> None:
    job, start = json.load(sys.stdin), time.monotonic()
    import jax

    imported = time.monotonic() - start
    jax.config.update("jax_enable_x64", True)
    answers = [answer(job, layout) for layout in job["layouts"]]
    told = {"jax": jax.__version__, "devices": jax.device_count(), "import_seconds": imported, "layouts": answers}
    json.dump(told, sys.stdout)


def answer(job: dict, layout: dict) -> dict:
    """Of one layout: text of HLO, losses, parameters after the steps, bytes of temporaries; or what JAX refuses, and where."""
    import jax
    from jax.sharding import AxisType

    kind = AxisType.Explicit if layout["explicit"] else AxisType.Auto
    axes, sizes = layout["axes"], layout["sizes"]
    mesh = jax.make_mesh(sizes, axes, axis_types=(kind,) * len(axes), devices=jax.devices()[: job["nranks"]])
    try:
        with jax.set_mesh(mesh):
            return trained(job, layout, mesh)
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {str(error).splitlines()[0]}"}


def trained(job: dict, layout: dict, mesh: object) -> dict:
    """All steps, by the program that was compiled for the first of them."""
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    def lies(spec: list) -> NamedSharding:
        return NamedSharding(mesh, PartitionSpec(*(axis or None for axis in spec)))

    kinds = [lies(spec) for spec in layout["weights"]]
    params = [jax.device_put(np.array(w), kind) for w, kind in zip(job["params"], kinds, strict=True)]
    data = [[jax.device_put(np.array(one), lies(layout["batch"])) for one in pair] for pair in job["data"]]
    run = jax.jit(make_step(job["lr"], layout, lies), out_shardings=(lies([]), kinds))
    compiled = run.lower(params, *data[0]).compile()
    losses = []
    for x, y in data:
        loss, params = compiled(params, x, y)
        losses.append(float(loss))
    memory = compiled.memory_analysis()
    return {
        "text": compiled.as_text(),
        "losses": losses,
        "params": [np.asarray(w).tolist() for w in params],
        "temporary": memory.temp_size_in_bytes if memory else None,
    }


def make_step(lr: float, layout: dict, lies: object):
    """The step as one process would write it: no device in it, but for what the layout says."""
    import jax
    import jax.numpy as jnp

    says = jax.sharding.reshard if layout["explicit"] else jax.lax.with_sharding_constraint
    depth = len(layout["weights"])

    def layer(w, x, i):
        x = x @ (says(w, lies([])) if layout["gathered"] else w).T
        x = says(x, lies(layout["outputs"][i])) if layout["outputs"][i] else x
        return jax.nn.gelu(x, approximate=False) if i < depth - 1 else x

    if layout["remat"]:
        layer = jax.checkpoint(layer, static_argnums=2)

    def loss(params, x, y):
        for i, w in enumerate(params):
            x = layer(w, x, i)
        return jnp.mean((x - y) ** 2)

    def step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return value, [w - lr * g for w, g in zip(params, grads, strict=True)]

    return step


if __name__ == "__main__":
    main()
