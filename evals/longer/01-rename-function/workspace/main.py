from store import fetch

print(fetch(3))
