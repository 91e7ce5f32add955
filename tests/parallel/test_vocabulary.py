"""A vocabulary cut among ranks: loss and gradients are torch's own, and one number a token travels where logits would."""

import torch
import torch.distributed as dist

from helpers.parallel.counting import counted
from helpers.parallel.model import IGNORED
from helpers.parallel.tensor import vocabulary

BATCH, SEQ, VOCAB, WIDTH = 2, 6, 12, 8


def case():
    made = torch.Generator("cpu").manual_seed(0)
    table, head = (torch.randn(VOCAB, WIDTH, generator=made, dtype=torch.float64) for _ in range(2))
    tokens, targets = (torch.randint(VOCAB, (BATCH, SEQ), generator=made) for _ in range(2))
    targets[0, 4:] = IGNORED
    return tokens, targets, table, head


def cut():
    with counted() as moved:
        got = vocabulary.gradients(*case(), dist.group.WORLD)
    return got, moved.by_op(), [call.given for call in moved.calls]


def test_loss_and_gradients_are_those_of_one_process(ranks):
    loss, *whole = vocabulary.gradients_whole(*case())
    for rank, (got, _, _) in enumerate(ranks.run(cut)):
        assert torch.allclose(got[0], loss, atol=1e-12, rtol=0)
        for mine, want in zip(got[1:], whole, strict=True):
            assert torch.allclose(mine, want.chunk(4)[rank], atol=1e-12, rtol=0)


def test_one_number_a_token_travels_for_the_loss(ranks):
    """The embeddings, three times a number a token, and the gradient of the head's input: never VOCAB wide."""
    for _, calls, given in ranks.run(cut):
        wide, narrow = BATCH * SEQ * WIDTH * 8, BATCH * SEQ * 8
        assert calls == {"all_reduce": 5} and given == [wide, narrow, narrow, narrow, wide]


def test_logits_of_a_vocabulary_that_does_not_divide():
    assert vocabulary.logits_nbytes(8192, 128256, 4, 8) * 8 == vocabulary.logits_nbytes(8192, 128256, 4)
    assert vocabulary.logits_nbytes(10, 7, 2, 4) == 10 * 2 * 2
