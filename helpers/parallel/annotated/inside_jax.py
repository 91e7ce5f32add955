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
    told["blocks"] = [blocks(job, drawn) for drawn in job.get("blocks", ())]
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


def blocks(job: dict, drawn: list) -> dict:
    """Of residual blocks of which only the matrices are annotated: text of HLO, and the loss. drawn: x, y, and each pair's matrices."""
    import jax
    import numpy as np
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    mesh = jax.make_mesh(
        (job["nranks"],), ("tensor",), axis_types=(AxisType.Auto,), devices=jax.devices()[: job["nranks"]]
    )
    whole, outputs, inputs = (
        NamedSharding(mesh, PartitionSpec(*spec)) for spec in ((), ("tensor", None), (None, "tensor"))
    )
    x, y, *matrices = (np.array(one) for one in drawn)
    kinds = [outputs, inputs] * (len(matrices) // 2)
    gains = [jax.device_put(np.ones(x.shape[1]), whole) for _ in range(len(kinds) // 2 + 1)]
    params = [jax.device_put(w, kind) for w, kind in zip(matrices, kinds, strict=True)], gains
    step = jax.jit(jax.value_and_grad(residual), out_shardings=(whole, (kinds, [whole] * len(gains))))
    compiled = step.lower(params, *(jax.device_put(one, whole) for one in (x, y))).compile()
    loss, _ = compiled(params, x, y)
    return {"text": compiled.as_text(), "loss": float(loss)}


def residual(params: tuple, x: object, y: object) -> object:
    """The loss of x + down(gelu(up(norm(x)))), pair by pair, and a norm behind the last; the norm is torch's rms_norm."""
    import jax
    import jax.numpy as jnp

    def norm(x: object, gain: object) -> object:
        return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + jnp.finfo(x.dtype).eps) * gain

    matrices, gains = params
    for up, down, gain in zip(matrices[::2], matrices[1::2], gains[:-1], strict=True):
        x = x + jax.nn.gelu(norm(x, gain) @ up.T, approximate=False) @ down.T
    return jnp.mean((norm(x, gains[-1]) - y) ** 2)


if __name__ == "__main__":
    main()
