"""Prints the first column."""
from source import fetch, fetch_first


def column(text, index):
    return [row[index] for row in fetch(text)]


def main(text):
    print("first:", fetch_first(text))
    for value in column(text, 0):
        print(value)


if __name__ == "__main__":
    main("a,1\nb,2\n")
