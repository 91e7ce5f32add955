"""What a training step sends: every byte of the weights once in the shards and the buckets, activations by their shape."""

import pytest

from helpers.facts import MODELS, lookup
from helpers.memory.payloads import FIRST, REST, payloads


def of(rows, by, collective):
    return [row for row in rows if (row.by, row.collective) == (by, collective)]


@pytest.mark.parametrize("name", MODELS)
def test_what_is_reduced_is_every_parameter_once(name):
    model, rows = MODELS[name], payloads(name)
    nbytes = 2 * model.nparams
    scattered = of(rows, "FSDP (ZeRO-3)", "reduce_scatter")
    assert sum(row.nbytes * row.times for row in scattered) == nbytes
    buckets = of(rows, "DDP", "all_reduce")
    assert sum(row.nbytes * row.times for row in buckets) == (0 if model.latent else nbytes)
    gathered = of(rows, "FSDP (ZeRO-3)", "all_gather")
    assert sum(row.nbytes * row.times for row in gathered) == 2 * nbytes - scattered[-1].nbytes, "the rest once"


def test_a_bucket_has_at_least_its_limit_but_the_first_and_the_last():
    sizes = [row.nbytes for row in payloads("GPT-2-XL", dtype_bytes=4) if row.by == "DDP"]
    assert sum(size < REST for size in sizes) <= 2 and min(sizes) >= FIRST
    assert (lookup("ddp.bucket.first").quantity, lookup("ddp.bucket").quantity) == (FIRST, REST)


def test_activations_have_their_shape():
    rows = payloads("Llama-3-8B", batch=2, seq=4096)
    (tensor,), (pipe,) = of(rows, "tensor parallel", "all_reduce"), of(rows, "pipeline", "send_recv")
    assert (tensor.nbytes, tensor.times) == (2 * 4096 * 4096 * 2, 4 * 32) and pipe.nbytes == tensor.nbytes
    (experts,) = of(payloads("Mixtral-8x7B", seq=1024), "expert parallel", "all_to_all")
    assert (experts.nbytes, experts.times) == (1024 * 4096 * 2 * 2, 4 * 32)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"model": "GPT-9"}, "no model 'GPT-9': there is GPT-2, "),
        ({"model": "GPT-2", "batch": 0}, "batch is a whole number of at least 1, got 0"),
        ({"model": "GPT-2", "seq": True}, "seq is a whole number of at least 1, got True"),
    ],
)
def test_bad_input_is_named(arguments, said):
    with pytest.raises(ValueError, match=said):
        payloads(**arguments)
