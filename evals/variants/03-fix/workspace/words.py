def count(text):
    """Number of words, whatever the space between them."""
    return len(text.split(" "))
