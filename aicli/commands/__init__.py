"""One file a command; the first docstring line is its help line."""
