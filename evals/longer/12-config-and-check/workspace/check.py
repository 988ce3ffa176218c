import json

c = json.load(open("config.json"))
print("all good" if c == {"retries": 5, "delay": 2, "host": "local"} else f"wrong: {c}")
