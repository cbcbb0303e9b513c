"""A harness in Python. Bend the three parts below; whatever you leave out or answer with None is done
by the harness that harness.toml extends. print() goes to stderr, of which tack shows the end when
something fails: stdout belongs to tack.
"""

import json
import os
import sqlite3
import sys

ANSWERS, sys.stdout = sys.stdout, sys.stderr

# --- 1. Your prompt ---------------------------------------------------------------------------------
# `draft` is the request as it would be sent: system (texts), messages, tools, body.
# Return the keys you changed. Say the same each time: then the server's prompt cache holds.


def prompt(draft, session):
    return {"system": draft["system"] + ["Answer in one short paragraph when the work is done."]}


# --- 2. Your parsing --------------------------------------------------------------------------------
# `reply` is what the model said: text, thinking, calls (of the wire). `draft` is what tack makes of it.
# Return {"calls": […]}, {"retry": "what to tell the model"}, {"done": True}, or None for the draft.
# Here a line `RUN: make test` is a command, for models that write calls as text.


def interpret(reply, draft, session):
    if "calls" in draft:
        return None
    for line in reply["text"].splitlines():
        if line.startswith("RUN: "):
            action = {"do": "shell", "command": line.removeprefix("RUN: ")}
            return {"calls": [{"action": action, "quote": line}]}
    return None


# --- 3. Your events ---------------------------------------------------------------------------------
# Called once with each item of the session: user, note, assistant, result, scene, summary, mark.
# $TACK_DATA is the one folder you may write. A program that is started anew gets all items again.

DATABASE = sqlite3.connect(os.path.join(os.environ.get("TACK_DATA", "/tmp"), "events.db"), isolation_level=None)
DATABASE.execute("create table if not exists items (session, id, turn, kind, body, primary key (session, id))")


def event(item, session):
    row = (session["id"], item["id"], item["turn"], item["is"], json.dumps(item))
    DATABASE.execute("insert or ignore into items values (?, ?, ?, ?, ?)", row)


# --- Two more that you may define -------------------------------------------------------------------
# def tell(call, outcome, draft, session): return "what the model reads as the result of this call"
# def notes(draft, session): return ["a reminder that the model gets once, now"]


# --- The protocol: nothing to change here -----------------------------------------------------------

ASKS = {
    "prompt": lambda m, s: prompt(m["draft"], s),
    "interpret": lambda m, s: interpret(m["reply"], m["draft"], s),
    "tell": lambda m, s: tell(m["call"], m["outcome"], m["draft"], s),  # noqa: F821
    "notes": lambda m, s: notes(m["draft"], s),  # noqa: F821
}


def main():
    session = {"id": "", "items": [], "model": {}}
    wants = [name for name in (*ASKS, "event") if name in globals()]
    for line in sys.stdin:
        message = json.loads(line)
        if message["do"] == "hello":
            session["id"] = message["session"]
            answer(message, {"protocol": 1, "wants": wants})
            continue
        view = message["view"]
        session["model"] = view["model"]
        session["items"][view["from"] :] = view["items"]
        if "event" in wants:
            for item in view["items"]:
                event(item, session)
        if message["do"] in ASKS:
            said = ASKS[message["do"]](message, session)
            if said is None:
                answer(message, {"default": True})
            elif message["do"] == "interpret":
                answer(message, said)
            else:
                answer(message, {message["do"]: said})


def answer(message, said):
    print(json.dumps({"id": message["id"], **said}), file=ANSWERS, flush=True)


if __name__ == "__main__":
    main()
