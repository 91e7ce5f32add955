"""The CPU allocator's own events, as torch's profiler tells them."""

from torch.profiler import ProfilerActivity, profile


def allocators_peak(run):
    """The highest sum of the CPU allocator's own events while `run` runs, in bytes above the start."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        run()
    events = watched.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    total = peak = 0
    for _, nbytes in changes:
        total += nbytes
        peak = max(peak, total)
    return peak
