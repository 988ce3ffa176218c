"""What the program costs beside two floors that do the same job with no agent around it."""
