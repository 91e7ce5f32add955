"""What travels between the notebook and a rank: functions, results, output. Chapter: ranks."""
