#!/usr/bin/env python3
"""Compares what a coding agent sends to its model with what tack sends through its harness for that agent's models.

Both run the same task against the same scripted server on this machine: it answers with calls of the agent's own
tools (read, edit, a command that fails, two calls at once, a call that is cut off, one without its parameters, one of a
tool that there is not) and records every request. Printed are the differences: tools and their parameters, fields of the
request, and each message's role, form and structure. Descriptions, prompts and sentences are left out.

Needs Python 3.9, Linux with `unshare` (the runs have no network but loopback), `tack`, and a client from its registry:

    npm install @qwen-code/qwen-code            # qwen                   version 0.15
    npm install @mariozechner/pi-coding-agent   # pi                     0.73
    npm install @moonshot-ai/kimi-code          # kimi (Node 22.19)      2.1
    npm install opencode-ai                     # opencode               1.18
    pip install kimi-cli==1.48.0                # kimi (Python 3.12)     1.48, later ones only say that it has ended
    pip install mini-swe-agent                  # mini                   2.4

Run it with the harness and the client's program, or several such pairs; words after a path go ahead of the arguments:

    tests/clients/compare.py [--tack target/debug/tack] [--full] [--words] qwen-code=node_modules/.bin/qwen ...

`--full` prints both sides whole instead of a diff, `--words` texts as they are. The exit code is 0 even where there are
differences: they are to be read. Not part of CI, which has no clients.
"""
import argparse, difflib, fcntl, http.server, json, os, re, shlex, socket, struct, subprocess, sys, tempfile, threading

PROMPT = "Follow the zebra plan."
FILES = {"a.txt": "alpha 1\nalpha 2\nalpha 3\n", "b.txt": "beta 1\n", "AGENTS.md": "Rule seven: no tabs.\n", "src/c.txt": "", "src/deep/d.txt": ""}
FAILS = "echo out-1; echo err-2 >&2; exit 3"
KEPT = re.compile(r"(alpha \w+|beta 1|out-1|err-2)$")
LIMIT = 120  # seconds for one run
ADDRESS = "192.0.2.1"  # on the loopback device: at 127.0.0.1 tack takes a model for a small one of this machine


def json_file(home, name, value):
    path = os.path.join(home, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))


# What each client needs to speak to the server: files in its home, variables, arguments.
def qwen(home, url):
    settings = {"general": {"disableUpdateNag": True, "disableAutoUpdate": True}, "telemetry": {"enabled": False},
                "privacy": {"usageStatisticsEnabled": False}, "memory": {"enableManagedAutoMemory": False}}
    json_file(home, ".qwen/settings.json", settings)
    env = {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": url, "OPENAI_MODEL": "qwen3-coder"}
    return env, ["--auth-type", "openai", "-y", PROMPT]


def pi(home, url):
    model = {"id": "qwen3-coder", "reasoning": True, "contextWindow": 131072, "maxTokens": 32000}
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "key", "models": [model]}
    json_file(home, ".pi/agent/models.json", {"providers": {"scripted": provider}})
    return {"PI_OFFLINE": "1"}, ["-p", "--provider", "scripted", "--model", "qwen3-coder", PROMPT]


def mini(home, url):
    env = {"OPENAI_API_KEY": "key", "OPENAI_API_BASE": url, "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors",
           "LITELLM_LOCAL_MODEL_COST_MAP": "True", "MSWEA_GLOBAL_CONFIG_DIR": home}
    return env, ["-y", "--exit-immediately", "-m", "openai/qwen3-coder", "-t", PROMPT, "-o", os.path.join(home, "out.json")]


def kimi(home, url):
    json_file(home, "kimi/config.toml", f"""
default_model = "k"
telemetry = false
[providers.k]
type = "kimi"
base_url = "{url}"
api_key = "key"
[models.k]
provider = "k"
model = "kimi-k2.5"
max_context_size = 131072
capabilities = ["thinking"]
""")
    return {"KIMI_CODE_HOME": os.path.join(home, "kimi"), "KIMI_CODE_NO_AUTO_UPDATE": "1"}, ["-p", PROMPT]


def kimi_cli(home, url):
    json_file(home, "kimi/config.toml", f"""
default_model = "k"
telemetry = false
[providers.k]
type = "kimi"
base_url = "{url}"
api_key = "key"
[models.k]
provider = "k"
model = "kimi-k2.5"
max_context_size = 131072
""")
    return {"KIMI_SHARE_DIR": os.path.join(home, "kimi"), "KIMI_CLI_NO_AUTO_UPDATE": "1"}, ["--print", "--yolo", "-p", PROMPT]


def opencode(home, url):
    model = {"reasoning": True, "tool_call": True, "interleaved": {"field": "reasoning_content"},
             "limit": {"context": 131072, "output": 32000}}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url, "apiKey": "key"}, "models": {"qwen3-coder": model}}
    json_file(home, ".config/opencode/opencode.json", {"provider": {"scripted": provider}, "autoupdate": False})
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1"}, ["run", "--auto", "-m", "scripted/qwen3-coder", PROMPT]


# Per harness: the client, the model and provider that tack uses, and the script's calls in its tools.
CLIENTS = {
    "qwen-code": (qwen, "qwen3-coder", "scripted", {
        "read": lambda p: ("read_file", {"file_path": p}), "shell": lambda c: ("run_shell_command", {"command": c, "is_background": False}),
        "edit": lambda p, a, b: ("edit", {"file_path": p, "old_string": a, "new_string": b})}),
    "pi": (pi, "qwen3-coder", "scripted", {
        "read": lambda p: ("read", {"path": p}), "shell": lambda c: ("bash", {"command": c}),
        "edit": lambda p, a, b: ("edit", {"path": p, "edits": [{"oldText": a, "newText": b}]})}),
    "mini-swe-agent": (mini, "qwen3-coder", "scripted", {
        "read": lambda p: ("bash", {"command": f"cat {p}"}), "shell": lambda c: ("bash", {"command": c}),
        "edit": lambda p, a, b: ("bash", {"command": f"sed -i 's/{a}/{b}/' {p}"}),
        "end": ("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})}),
    "kimi-code": (kimi, "kimi-k2.5", "moonshotai", {
        "read": lambda p: ("Read", {"path": p}), "shell": lambda c: ("Bash", {"command": c}),
        "edit": lambda p, a, b: ("Edit", {"path": p, "old_string": a, "new_string": b})}),
    "kimi-cli": (kimi_cli, "kimi-k2.5", "moonshotai", {
        "read": lambda p: ("ReadFile", {"path": p}), "shell": lambda c: ("Shell", {"command": c}),
        "edit": lambda p, a, b: ("StrReplaceFile", {"path": p, "edit": {"old": a, "new": b}})}),
    "opencode": (opencode, "qwen3-coder", "scripted", {
        "read": lambda p: ("read", {"filePath": p}), "shell": lambda c: ("bash", {"command": c, "description": "Run it"}),
        "edit": lambda p, a, b: ("edit", {"filePath": p, "oldString": a, "newString": b})}),
}


def script(tools, work):
    """The replies in order: what was done, reasoning, words, calls (name and arguments as text)."""
    a, b = os.path.join(work, "a.txt"), os.path.join(work, "b.txt")
    text = lambda call: (call[0], json.dumps(call[1]))
    shell, bare = tools["shell"], tools["shell"]("true")[0]
    yield "read, with reasoning and words", "Look first.", "Reading.", [text(tools["read"](a))]
    yield "edit, with reasoning", "Change it.", "", [text(tools["edit"](a, "alpha 2", "alpha two"))]
    yield "a command that fails", "", "", [text(shell(FAILS))]
    yield "two calls at once", "", "", [text(tools["read"](b)), text(shell("true"))]
    yield "an edit that fits nowhere", "", "", [text(tools["edit"](a, "gamma", "delta"))]
    yield "a file that is not there", "", "", [text(tools["read"](os.path.join(work, "none.txt")))]
    yield "arguments cut off", "", "", [(bare, '{"command": "echo al')]
    yield "arguments that are no JSON", "", "", [(bare, "{command: echo alpha}")]
    yield "a parameter of the wrong type", "", "", [text(tools["read"]([1]))]
    yield "a parameter missing", "", "", [(bare, "{}")]
    yield "a tool that there is not", "", "", [("no_such", '{"x": 1}')]
    yield "the end", "Done.", "All done.", [text(tools["end"])] if "end" in tools else []


class Server:
    """Answers the script's replies in turn; what has no tools or not the prompt is beside the point."""

    def __init__(self, replies):
        self.replies, self.requests, self.lock, outer = list(replies), [], threading.Lock(), self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            log_message = lambda *_: None

            def answer(self, kind, data):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.answer("application/json", json.dumps({"object": "list", "data": []}).encode())

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                self.answer(*outer.reply(body))

        self.http = http.server.ThreadingHTTPServer((ADDRESS, 0), Handler)
        self.url = f"http://{ADDRESS}:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def reply(self, body):
        with self.lock:
            step = len(self.requests)
            if body.get("tools") and PROMPT in json.dumps(body.get("messages")) and step < len(self.replies):
                self.requests.append(body)
                _, thought, words, calls = self.replies[step]
            else:
                thought, words, calls = "", "A title", []
        message = {"role": "assistant", "content": words or None}
        if thought:
            message["reasoning_content"] = thought
        if calls:
            message["tool_calls"] = [{**({"index": i} if body.get("stream") else {}), "id": f"call_{step}_{i}", "type": "function", "function": {"name": n, "arguments": a}}
                                     for i, (n, a) in enumerate(calls)]
        end = "tool_calls" if calls else "stop"
        head = {"id": f"r{step}", "created": 1, "model": body.get("model")}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        if not body.get("stream"):
            whole = {**head, "object": "chat.completion", "usage": usage, "choices": [{"index": 0, "message": message, "finish_reason": end}]}
            return "application/json", json.dumps(whole).encode()
        chunk = {**head, "object": "chat.completion.chunk"}
        events = [{**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                  {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]}, {**chunk, "choices": [], "usage": usage}]
        return "text/event-stream", ("".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n").encode()


def run(harness, program):
    """One run in a fresh home and project; `program` is the client's, or tack's when it ends in `tack`."""
    client, model, provider, tools = CLIENTS[harness]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        home, work = os.path.join(folder, "home"), os.path.join(folder, "work")
        os.makedirs(home)
        for name, text in FILES.items():
            json_file(work, name, text)
        server = Server(script(tools, work))
        if os.path.basename(program[-1]) == "tack":
            json_file(home, "config.toml", f'model_class = "F"\nmodel_context_window = 131072\n[model_providers.{provider}]\nbase_url = "{server.url}"\nenv_key = "KEY"\nwire_api = "chat"\n')
            env, args = {"TACK_HOME": home, "KEY": "key"}, ["exec", "--harness", harness, "--yolo", "--skip-git-repo-check", "--provider", provider, "-m", model, PROMPT]
        else:
            env, args = client(home, server.url)
        env.update(HOME=home, PATH=os.environ["PATH"], LANG="C.UTF-8", NO_COLOR="1", TERM="dumb")
        try:
            ran = subprocess.run(program + args, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
            said = f"exit {ran.returncode}: {(ran.stdout + ran.stderr)[-1500:]}"
        except subprocess.TimeoutExpired:
            said = f"did not end within {LIMIT} s"
        server.http.shutdown()
        if len(server.requests) < len(server.replies):
            print(f"{program[-1]}: {len(server.requests)} of {len(server.replies)} requests; {said}", file=sys.stderr)
        return server, work


def shape(text, work, words):
    """A text without its sentences: fixture lines, tags, labels and JSON keys stay."""
    text = text.replace(work, "<cwd>")
    if words:
        return text.split("\n")
    try:
        value = json.loads(text)
        if isinstance(value, dict):
            return ["JSON " + ", ".join(f"{k}: {v if isinstance(v, int) else type(v).__name__}" for k, v in value.items())]
    except ValueError:
        pass
    lines = []
    for line in text.split("\n"):
        tags = re.findall(r"</?[a-zA-Z][\w.-]*(?:>|(?= ))", line)
        label = re.match(r"\s*[A-Z][\w ]{1,24}:|\s*[a-z]+(?:_[a-z]+)+:", line)
        if KEPT.search(line):
            line = re.sub(r"^.*?(?=<|\w+: |\s*\d+[:\t|→]|%s)" % KEPT.pattern, "", line)
        elif tags:
            line = " ".join(tags)
        elif label:
            line = label.group() + " ~"
        else:
            line = "~" if line.strip() else ""
        if not lines or lines[-1] != line:
            lines.append(line)
    return lines


def holds(text, work):
    """What a prompt holds, in order."""
    marks = {"prompt": PROMPT, "agents-md": FILES["AGENTS.md"].strip(), "cwd": work, "listing": "b.txt"}
    found = [(text.find(mark), name) for name, mark in marks.items() if mark in text]
    date = re.search(r"20\d\d-\d\d-\d\d|(?:January|February|March|April|May|June|July|August|September|October|November|December) \d", text)
    return "holds " + " ".join(name for _, name in sorted(found + ([(date.start(), "date")] if date else [])))


def message(item, work, words):
    content, role = item.get("content", "absent"), item["role"]
    form = content if content == "absent" else "null" if content is None else "string" if isinstance(content, str) else f"{len(content)} part(s)"
    texts = [content] if isinstance(content, str) and content != "absent" else [p.get("text", p["type"]) for p in content] if isinstance(content, list) else []
    yield f"{role}: {form}" + (" (empty)" if texts == [""] else "")
    for text in filter(None, texts):
        if role != "tool" and not words:
            tags = " ".join(dict.fromkeys(re.findall(r"<[a-z][a-z_-]*>", text))) if role == "user" else ""
            yield f"    {holds(text, work)} {tags}".rstrip()
        else:
            yield from ("    | " + line for line in shape(text, work, words))
    for key in sorted(set(item) - {"role", "content"}):
        value = item[key]
        if key == "tool_calls":
            for call in value:
                yield f"    call {sorted(call)} {call['function']['name']} {call['function']['arguments'].replace(work, '<cwd>').replace(': ', ':').replace(', ', ',')}"
        else:
            yield f"    {key}: {'~' if key == 'tool_call_id' else json.dumps(value)}"


def schema(value, name, depth):
    """A parameter and those in it, without descriptions."""
    rest = {k: v for k, v in value.items() if k not in ("description", "properties", "required", "items", "title", "$schema")}
    yield "  " * depth + f"{name}: {json.dumps(rest, sort_keys=True)}"
    for key, inner in sorted(value.get("properties", {}).items()):
        yield from schema(inner, key + ("!" if key in value.get("required", []) else ""), depth + 1)
    if isinstance(value.get("items"), dict):
        yield from schema(value["items"], "[]", depth + 1)


def told(server, work, words):
    """All that a run sent, as lines to compare."""
    first = server.requests[0]
    yield "# tools, in order: " + " ".join(t["function"]["name"] for t in first["tools"])
    for tool in sorted(first["tools"], key=lambda t: t["function"]["name"]):
        rest = {k: v for k, v in tool["function"].items() if k not in ("name", "description", "parameters")}
        yield from schema(tool["function"].get("parameters", {}), f"{tool['function']['name']} {rest or ''}".strip(), 0)
    yield "# request"
    for key in sorted(set(first) - {"messages", "tools"}):
        yield f"{key}: {json.dumps(first[key]) if key != 'prompt_cache_key' else '~'}"
    before = []
    for index, body in enumerate(server.requests):
        yield f"# request {index + 1}" + (f", after: {server.replies[index - 1][0]}" if index else "")
        changed = {k for k in set(body) | set(first) if k not in ("messages",) and body.get(k) != first.get(k)}
        if changed:
            yield f"other than in the first: {sorted(changed)}"
        now = body["messages"]
        same = next((i for i, (x, y) in enumerate(zip(before, now)) if x != y), min(len(before), len(now)))
        if same < len(before):
            yield f"messages of the request before that are gone or changed: {len(before) - same}"
        for item in now[same:]:
            yield from message(item, work, words)
        before = now


def alone(argv):
    """Runs this script again where there is no network but loopback."""
    if os.environ.get("COMPARE_ALONE") != "1":
        os.environ["COMPARE_ALONE"] = "1"
        os.execvp("unshare", ["unshare", "-n" if os.geteuid() == 0 else "-rn", sys.executable, os.path.abspath(__file__), *argv])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(ADDRESS))
        fcntl.ioctl(s, 0x8916, struct.pack("16s16s", b"lo:1", address))  # SIOCSIFADDR


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tack", default="target/debug/tack")
    ask.add_argument("--full", action="store_true")
    ask.add_argument("--words", action="store_true")
    ask.add_argument("pairs", nargs="+", metavar="HARNESS=PROGRAM")
    asked = ask.parse_args()
    alone(sys.argv[1:])
    for harness, _, program in (pair.partition("=") for pair in asked.pairs):
        program = [os.path.abspath(p) if os.path.exists(p) else p for p in shlex.split(program)]
        sides = [list(told(*run(harness, p), asked.words)) for p in (program, [os.path.abspath(asked.tack)])]
        print(f"===== {harness}")
        if asked.full:
            print("\n".join(sides[0] + ["", "----- tack", ""] + sides[1]))
        else:
            print("\n".join(difflib.unified_diff(*sides, "client", "tack", n=3, lineterm="")))


if __name__ == "__main__":
    main()
