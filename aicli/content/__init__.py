"""Every value that crosses a boundary: no I/O here."""
