"""One file a tool, named as the tool."""
