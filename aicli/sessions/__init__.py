"""Memory of runs: the log and the store."""
