"""The verdict on files that torch writes: dumps, traces and snapshots. Chapter: yours."""
