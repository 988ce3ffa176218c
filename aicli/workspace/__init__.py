"""Where an agent works: roots, ignore rules, text, checkpoints, memory."""
