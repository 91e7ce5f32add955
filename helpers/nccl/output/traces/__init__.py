"""What torch's profiler writes (kineto's Chrome trace): where a step's time went, and who waited for whom. Chapter: yours."""
