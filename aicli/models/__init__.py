"""Who thinks: providers, embedders, dialects, and the orchestrator that picks one."""
