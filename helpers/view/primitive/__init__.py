"""One call of torch, before and after, on the reader's numbers."""
