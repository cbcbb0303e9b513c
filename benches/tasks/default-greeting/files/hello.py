def greet(name):
    """A line to greet somebody with."""
    name = name.strip().title()
    return f"Hello, {name}!"


def farewell(name):
    return f"Goodbye, {name}!"
