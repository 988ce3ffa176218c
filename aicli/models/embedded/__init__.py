"""The local model and how it gets here."""
