"""One warp: branches, sectors, banks."""
