"""What torch and its launcher write when something fails: messages, tables of failures, time-outs. Chapter: yours."""
