// What the rows share: folders, the client, checks on processes.

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export class Place {
  // Not below /tmp, of which commands see one of their own.
  constructor(Codex, binary) {
    this.root = mkdtempSync("/var/tmp/tack-sdk-");
    this.home = this.folder("home");
    this.Codex = Codex;
    this.binary = binary;
    this.env = { PATH: process.env.PATH, HOME: this.home, TACK_HOME: this.home, LANG: "C.UTF-8" };
  }

  folder(name) {
    const path = join(this.root, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  file(name, content) {
    const path = join(this.root, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  // The client with nothing changed but its binary, for this model at the OpenAI provider.
  client(model, { config = {}, env = {}, ...more } = {}) {
    return new this.Codex({
      codexPathOverride: this.binary,
      baseUrl: model.url,
      apiKey: "sk-sdk-test",
      env: { ...this.env, ...env },
      config: { harness: "minimal", ...config },
      ...more,
    });
  }

  // A thread in a folder of its own.
  thread(model, options = {}, client = {}) {
    const { workingDirectory = this.folder(`work${Math.random().toString(36).slice(2)}`), ...more } = options;
    const thread = this.client(model, client).startThread({
      model: "scripted",
      workingDirectory,
      skipGitRepoCheck: true,
      ...more,
    });
    return Object.assign(thread, { cwd: workingDirectory });
  }

  clear() {
    rmSync(this.root, { recursive: true, force: true });
  }
}

// All events of a turn; with the error that the stream ended with, if it did.
export async function turn(thread, input, options) {
  const events = [];
  let error;
  try {
    for await (const event of (await thread.runStreamed(input, options)).events) events.push(event);
  } catch (caught) {
    error = caught;
  }
  return { events, error, last: events.at(-1), items: events.filter((event) => event.type === "item.completed").map((event) => event.item) };
}

export const kinds = ({ events }) => events.map(({ type, item }) => (item ? `${type} ${item.type}` : type));
export const shell = (command, more = {}) => ({ calls: [{ name: "bash", args: { command, ...more } }] });
export const call = (name, args) => ({ calls: [{ name, args }] });

// Waits for something that comes about in another process.
export async function until(what, ready) {
  const limit = Date.now() + 20_000;
  for (;;) {
    const value = await ready();
    if (value) return value;
    if (Date.now() > limit) throw new Error(`waited in vain for ${what}`);
    await new Promise((next) => setTimeout(next, 10));
  }
}

const alive = (pid) => {
  try {
    return !["Z", "X"].includes(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)[0]);
  } catch {
    return false;
  }
};

// Ids of running processes one of whose arguments is `word`, or that have `word` in their environment.
export function running(word) {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || !alive(pid)) return false;
    try {
      const of = (file) => readFileSync(`/proc/${pid}/${file}`, "latin1").split("\0");
      return of("cmdline").includes(word) || of("environ").includes(word);
    } catch {
      return false;
    }
  });
}
