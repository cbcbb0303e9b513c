// Rows about the other ends of a turn: failures, retries, aborts.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { kinds, running, shell, turn, until } from "./kit.mjs";

export async function a_failing_turn_says_the_servers_words(place, models) {
  const refusal = { status: 400, message: "the quota of team blue is a lie" };
  await assert.rejects(place.thread(models.script(refusal)).run("x"), /quota of team blue is a lie/);
  const ran = await turn(place.thread(models.script(shell("true"), refusal)), "x");
  assert.deepEqual(kinds(ran).slice(-2), ["error", "turn.failed"]);
  assert.match(ran.events.at(-2).message, /team blue/);
  assert.match(ran.last.error.message, /team blue/);
  assert.match(ran.error.message, /exited with code 1/);
}

export async function a_retry_is_announced_and_the_turn_completes(place, models) {
  const ran = await turn(place.thread(models.script({ status: 500, message: "try later" })), "x");
  assert.deepEqual(kinds(ran), ["thread.started", "turn.started", "error", "item.completed agent_message", "turn.completed"]);
  assert.match(ran.events[2].message, /try later/);
}

export async function what_cannot_begin_says_why(place, models) {
  const model = models.script();
  const cases = [
    [place.thread(model), "", /code 2:[^]*standard input/],
    [place.client(model).resumeThread("00000000-0000-7000-8000-000000000000", { model: "scripted" }), "x", /code 2:[^]*0000/],
    [place.thread(model, { workingDirectory: "/nowhere" }), "x".repeat(1 << 20), /code 2:[^]*nowhere/],
    [place.thread(model, {}, { config: { sandbox_mode: "no-such-mode", strict: 1 }, configOverrides: ["=x"] }), "x", /code 2:/],
  ];
  for (const [thread, input, words] of cases) {
    const ran = await turn(thread, input);
    assert.deepEqual(ran.events, []);
    assert.match(ran.error.message, words);
  }
  assert.equal(model.requests.length, 0);
}

// Every process of a run has this in its environment, or is a `sleep` of this length.
const marked = (length) => ({ env: { SDK_MARK: `${length}` }, config: { harness: "minimal", sandbox: { env_pass: ["SDK_MARK"] } } });
const left = (length) => [...running(`SDK_MARK=${length}`), ...running(`${length}`)];
const gone = (length) => until(`the processes of ${length} to end`, () => left(length).length === 0);

let lengths = 51_000_000 + (process.pid % 10_000) * 100;

export async function an_abort_leaves_no_process(place, models) {
  const commands = [
    (n) => shell(`touch ready; sleep ${n}`),
    (n) => shell(`sleep ${n} & touch ready; sleep ${n}`),
    (n) => shell(`trap '' TERM; (trap '' TERM HUP; sleep ${n}) & setsid sleep ${n} & touch ready; sleep ${n}`),
  ];
  for (const sandboxMode of ["workspace-write", "danger-full-access"]) {
    for (const command of commands) {
      const length = lengths++;
      const thread = place.thread(models.script(command(length)), { sandboxMode }, marked(length));
      const stop = new AbortController();
      const ended = turn(thread, "x", { signal: stop.signal });
      await until("the command", () => existsSync(join(thread.cwd, "ready")));
      assert.ok(left(length).length >= 2, "tack and its command run");
      stop.abort();
      assert.equal((await ended).error.name, "AbortError");
      await gone(length);
      assert.equal((await thread.run("go on")).finalResponse, "ok");
    }
  }
}

export async function a_background_job_ends_with_an_abort_and_with_the_turn(place, models) {
  for (const sandboxMode of ["workspace-write", "danger-full-access"]) {
    const length = lengths++;
    const job = () => shell(`touch ready; sleep ${length}`, { background: true });
    const thread = place.thread(models.script(job(), "hang"), { sandboxMode }, marked(length));
    const stop = new AbortController();
    const ended = turn(thread, "x", { signal: stop.signal });
    await until("the job", () => existsSync(join(thread.cwd, "ready")));
    stop.abort();
    assert.ok((await ended).error);
    await gone(length);
    const whole = place.thread(models.script(job(), { text: "ok" }), { sandboxMode }, marked(length));
    await whole.run("x");
    await gone(length);
  }
}

export async function an_abort_closes_the_models_stream(place, models) {
  const length = lengths++;
  const model = models.script("hang");
  const stop = new AbortController();
  const ended = turn(place.thread(model, {}, marked(length)), "x", { signal: stop.signal });
  await until("the request", () => model.requests.length === 1);
  stop.abort();
  assert.ok((await ended).error);
  await until("the stream to close", () => model.requests[0].closed);
  await gone(length);
}

export async function a_signal_that_is_down_already_starts_nothing(place, models) {
  const model = models.script();
  const ran = await turn(place.thread(model), "x", { signal: AbortSignal.abort() });
  assert.equal(ran.error.name, "AbortError");
  assert.equal(model.requests.length, 0);
}

export async function leaving_the_loop_early_ends_the_run(place, models) {
  const length = lengths++;
  const thread = place.thread(models.script(shell(`sleep ${length} & sleep ${length}`)), { sandboxMode: "danger-full-access" }, marked(length));
  for await (const event of (await thread.runStreamed("x")).events) {
    if (event.type === "item.started") break;
  }
  await gone(length);
}
