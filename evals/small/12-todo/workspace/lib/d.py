def f():
    pass  # TODO write it
