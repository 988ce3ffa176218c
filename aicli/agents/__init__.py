"""The mind: specs, the loop, and the agent that remembers."""
