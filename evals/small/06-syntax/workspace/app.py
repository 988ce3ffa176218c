def total(items)
    return sum(items)


print("total", total([1, 2, 3]))
