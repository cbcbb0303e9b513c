"""A house that can be walked through by typing. One class; every room has three methods."""


class House:
    """Where the visitor is and what happened so far."""

    def __init__(self):
        self.room = "hall"
        self.moves = 0
        self.lamp = False
        self.log = []

    def say(self, text):
        """Adds a line to what the visitor reads."""
        self.log.append(text)
        return text

    # hall

    def enter_hall(self):
        self.room = "hall"
        self.moves += 1
        return self.say("You are in the hall.")

    def look_hall(self):
        if not self.lamp:
            return self.say("It is too dark in the hall.")
        return self.say("Doors lead to the laundry and the kitchen.")

    def leave_hall(self, way):
        if way == "on":
            return self.enter_kitchen()
        if way == "back":
            return self.enter_laundry()
        return self.say("There is no such door.")

    # kitchen

    def enter_kitchen(self):
        self.room = "kitchen"
        self.moves += 1
        return self.say("You are in the kitchen.")

    def look_kitchen(self):
        if not self.lamp:
            return self.say("It is too dark in the kitchen.")
        return self.say("Doors lead to the hall and the cellar.")

    def leave_kitchen(self, way):
        if way == "on":
            return self.enter_cellar()
        if way == "back":
            return self.enter_hall()
        return self.say("There is no such door.")

    # cellar

    def enter_cellar(self):
        self.room = "cellar"
        self.moves += 1
        return self.say("You are in the cellar.")

    def look_cellar(self):
        if not self.lamp:
            return self.say("It is too dark in the cellar.")
        return self.say("Doors lead to the kitchen and the attic.")

    def leave_cellar(self, way):
        if way == "on":
            return self.enter_attic()
        if way == "back":
            return self.enter_kitchen()
        return self.say("There is no such door.")

    # attic

    def enter_attic(self):
        self.room = "attic"
        self.moves += 1
        return self.say("You are in the attic.")

    def look_attic(self):
        if not self.lamp:
            return self.say("It is too dark in the attic.")
        return self.say("Doors lead to the cellar and the garden.")

    def leave_attic(self, way):
        if way == "on":
            return self.enter_garden()
        if way == "back":
            return self.enter_cellar()
        return self.say("There is no such door.")

    # garden

    def enter_garden(self):
        self.room = "garden"
        self.moves += 1
        return self.say("You are in the garden.")

    def look_garden(self):
        if not self.lamp:
            return self.say("It is too dark in the garden.")
        return self.say("Doors lead to the attic and the study.")

    def leave_garden(self, way):
        if way == "on":
            return self.enter_study()
        if way == "back":
            return self.enter_attic()
        return self.say("There is no such door.")

    # study

    def enter_study(self):
        self.room = "study"
        self.moves += 1
        return self.say("You are in the study.")

    def look_study(self):
        if not self.lamp:
            return self.say("It is too dark in the study.")
        return self.say("Doors lead to the garden and the library.")

    def leave_study(self, way):
        if way == "on":
            return self.enter_library()
        if way == "back":
            return self.enter_garden()
        return self.say("There is no such door.")

    # library

    def enter_library(self):
        self.room = "library"
        self.moves += 1
        return self.say("You are in the library.")

    def look_library(self):
        if not self.lamp:
            return self.say("It is too dark in the library.")
        return self.say("Doors lead to the study and the workshop.")

    def leave_library(self, way):
        if way == "on":
            return self.enter_workshop()
        if way == "back":
            return self.enter_study()
        return self.say("There is no such door.")

    # workshop

    def enter_workshop(self):
        self.room = "workshop"
        self.moves += 1
        return self.say("You are in the workshop.")

    def look_workshop(self):
        if not self.lamp:
            return self.say("It is too dark in the workshop.")
        return self.say("Doors lead to the library and the stable.")

    def leave_workshop(self, way):
        if way == "on":
            return self.enter_stable()
        if way == "back":
            return self.enter_library()
        return self.say("There is no such door.")

    # stable

    def enter_stable(self):
        self.room = "stable"
        self.moves += 1
        return self.say("You are in the stable.")

    def look_stable(self):
        if not self.lamp:
            return self.say("It is too dark in the stable.")
        return self.say("Doors lead to the workshop and the chapel.")

    def leave_stable(self, way):
        if way == "on":
            return self.enter_chapel()
        if way == "back":
            return self.enter_workshop()
        return self.say("There is no such door.")

    # chapel

    def enter_chapel(self):
        self.room = "chapel"
        self.moves += 1
        return self.say("You are in the chapel.")

    def look_chapel(self):
        if not self.lamp:
            return self.say("It is too dark in the chapel.")
        return self.say("Doors lead to the stable and the tower.")

    def leave_chapel(self, way):
        if way == "on":
            return self.enter_tower()
        if way == "back":
            return self.enter_stable()
        return self.say("There is no such door.")

    # tower

    def enter_tower(self):
        self.room = "tower"
        self.moves += 1
        return self.say("You are in the tower.")

    def look_tower(self):
        if not self.lamp:
            return self.say("It is too dark in the tower.")
        return self.say("Doors lead to the chapel and the laundry.")

    def leave_tower(self, way):
        if way == "on":
            return self.enter_laundry()
        if way == "back":
            return self.enter_chapel()
        return self.say("There is no such door.")

    # laundry

    def enter_laundry(self):
        self.room = "laundry"
        self.moves += 1
        return self.say("You are in the laundry.")

    def look_laundry(self):
        if not self.lamp:
            return self.say("It is too dark in the laundry.")
        return self.say("Doors lead to the tower and the hall.")

    def leave_laundry(self, way):
        if way == "on":
            return self.enter_hall()
        if way == "back":
            return self.enter_tower()
        return self.say("There is no such door.")

    # whatever the room is

    def light(self):
        self.lamp = True
        return self.say("The lamp burns.")

    def do(self, words):
        """Does what was typed."""
        verb, _, rest = words.strip().partition(" ")
        if verb == "light":
            return self.light()
        if verb == "look":
            return getattr(self, f"look_{self.room}")()
        if verb == "go":
            return getattr(self, f"leave_{self.room}")(rest)
        return self.say("Nothing happens.")
