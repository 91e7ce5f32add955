"""The verdict on a table of times: its curve, what stands beside it, and why it is slow. Chapter: yours."""
