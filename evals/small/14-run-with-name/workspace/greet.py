import sys

print(f"Good day, {sys.argv[1]}!")
