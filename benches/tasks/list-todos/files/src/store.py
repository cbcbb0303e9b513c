import json


def save(rows, path):
    # TODO: write to a temporary file first
    with open(path, "w") as out:
        json.dump(rows, out)


def load(path):
    with open(path) as source:
        return json.load(source)
