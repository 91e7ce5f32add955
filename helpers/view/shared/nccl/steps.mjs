// Counts that several estimates share. As ring_steps and _log2 of helpers/nccl/tuning.py, tested equal.
// Steps of a ring, as NCCL counts them; those of a rooted collective run through a pipeline.
export const ringSteps = (collective, nranks) =>
  ({ all_reduce: 2 * (nranks - 1), all_gather: nranks - 1, reduce_scatter: nranks - 1 })[collective] ?? nranks;

export const log2 = (count) => Math.trunc(Math.log2(count));
