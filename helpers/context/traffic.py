"""What one layer's attention moves when its tokens lie on P ranks, three ways. Chapter: context.

With K bytes of keys and values of all tokens, and N bytes of the stream (as many as of queries, and of attention's result):

    form        forward                               backward                                       together
    ring        P-1 sends of K/P                      2 (P-1) sends of K/P: keys once more, and      3 K (P-1)/P
                                                      their gradients, which travel after them
    gathered    an all_gather, K (P-1)/P              a reduce_scatter, K (P-1)/P                    2 K (P-1)/P
    heads       4 all_to_alls, (2N + K)/P (P-1)/P     the same backwards                             2 (2N + K)/P (P-1)/P

So a ring moves what an all_gather does, in pieces that can be hidden. "gathered" keeps all keys of the layer on every rank until
backward; one that drops them gathers again, and moves what a ring does. "heads" (Ulysses, arXiv 2309.14509) is the only one whose
bytes fall with P, and the only one that moves queries and results, which with few heads of keys are the larger part.
Ring attention libraries send the gradients one hop more, P instead of P-1, because each block's gradient starts at home
(zhuzilin/ring-flash-attention, torch's context_parallel), and send them in fp32; here a rank keeps its own term and adds it when the
others' arrive. torch's context_parallel gathers keys, in forward and again in backward, unless set_rotate_method("alltoall") was called.
With fewer heads of keys than ranks DeepSpeed's Ulysses sends each head as often as there are ranks for it: K is then that much more.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

FORMS = ("ring", "gathered", "heads")


class Sent(NamedTuple):
    """Calls of one operation by one rank, and the bytes that it sends in all of them together."""

    op: str
    calls: int
    nbytes: Fraction


class Passes(NamedTuple):
    """Of one layer."""

    forward: tuple[Sent, ...]
    backward: tuple[Sent, ...]

    def total(self, again: bool = False) -> Fraction:
        """Bytes of both. again: the layer is computed once more before its backward."""
        return sum((one.nbytes for one in self.forward * (1 + again) + self.backward), Fraction(0))


def layer_passes(form: str, keys: int, stream: int, nranks: int) -> Passes:
    """What a rank sends. keys: K, bytes of the keys and values of all tokens; stream: N.

    ValueError for a form that there is not, or no rank.
    """
    if form not in FORMS:
        raise ValueError(f"a way to share out attention is one of {', '.join(FORMS)}, got {form!r}")
    if nranks < 1:
        raise ValueError(f"a sequence is on one rank or more, got {nranks!r}")
    block, hops = Fraction(keys, nranks), nranks - 1
    if form == "ring":
        return Passes((Sent("send", hops, hops * block),), (Sent("send", 2 * hops, 2 * hops * block),))
    leave = Fraction(hops, nranks)
    if form == "gathered":
        return Passes((Sent("all_gather", 1, keys * leave),), (Sent("reduce_scatter", 1, keys * leave),))
    both = Sent("all_to_all", 4, (2 * stream + keys) * leave / nranks)
    return Passes((both,), (both,))
