def run(x):
    # TODO: handle empty input
    return x
