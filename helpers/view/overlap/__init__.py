"""One step on one rank: what computes, what keeps the link, and what of that shows."""
