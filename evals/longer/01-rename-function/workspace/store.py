def fetch(n):
    return f"loaded {n}"
