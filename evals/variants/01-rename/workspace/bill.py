total = 42
