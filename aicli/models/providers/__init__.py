"""One file a provider: a pure encode() and a pure decode()."""
