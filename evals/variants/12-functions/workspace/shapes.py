def square(a):
    return a * a


def circle(r):
    return 3.14 * r * r


def triangle(a, h):
    return a * h / 2
