from bill import total

print(total)
