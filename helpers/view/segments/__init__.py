"""The allocator's segments and blocks, event by event."""
