"""Says hello to whoever is named on the command line."""
import sys


def greeting(name):
    return f"Helo, {name}!"


if __name__ == "__main__":
    for name in sys.argv[1:] or ["world"]:
        print(greeting(name))
