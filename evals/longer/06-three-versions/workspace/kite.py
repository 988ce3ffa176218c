__version__ = "1.0.0"


def fly():
    return "up"
