"""The face: knows values and Host, nothing else."""
