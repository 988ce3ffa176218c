"""The local model and how it gets here."""

LIBRARY = "xllamacpp"
INSTALL = "pip install '.[embedded]' in aicli's own folder"
