def parse(line):
    # TODO: handle quoted commas
    return line.split(",")
