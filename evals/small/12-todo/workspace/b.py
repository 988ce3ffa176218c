# TODO: rename
y = 2
