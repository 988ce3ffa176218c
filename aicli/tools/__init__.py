"""The hands: tools, their registry, and the executor that runs calls."""
