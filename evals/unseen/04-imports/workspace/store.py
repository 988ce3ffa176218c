import json


def save(x):
    return json.dumps(x)
