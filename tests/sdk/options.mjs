// Rows about options: folders, the sandbox, settings, keys, the environment.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { shell, turn } from "./kit.mjs";
import { effort } from "./model.mjs";

const outputs = (ran) => ran.items.filter((item) => item.type === "command_execution").map((item) => [item.status, item.aggregated_output.trim()]);

export async function commands_run_in_the_working_folder_and_write_further_ones(place, models) {
  const [extra, other] = [place.folder("extra"), place.folder("other")];
  const model = models.script(shell("pwd"), shell(`echo x > ${extra}/in`), shell(`echo x > ${other}/out`));
  const thread = place.thread(model, { additionalDirectories: [extra, place.folder("extra2")], sandboxMode: "workspace-write" });
  const [where, inside, outside] = outputs(await turn(thread, "go"));
  assert.deepEqual(where, ["completed", thread.cwd]);
  assert.equal(inside[0], "completed");
  assert.equal(outside[0], "failed");
  assert.deepEqual([existsSync(join(extra, "in")), existsSync(join(other, "out"))], [true, false]);
}

export async function the_sandbox_mode_holds(place, models) {
  const outside = place.folder("outside");
  for (const [sandboxMode, here, there] of [["read-only", false, false], ["workspace-write", true, false], ["danger-full-access", true, true]]) {
    const model = models.script(shell("echo x > here"), shell(`echo x > ${outside}/${sandboxMode}`));
    const thread = place.thread(model, { sandboxMode });
    await thread.run("write");
    const wrote = [existsSync(join(thread.cwd, "here")), existsSync(join(outside, sandboxMode))];
    assert.deepEqual(wrote, [here, there], sandboxMode);
  }
}

export async function the_network_is_reached_only_where_it_is_allowed(place, models) {
  for (const networkAccessEnabled of [false, true]) {
    const model = models.script(shell(`exec 3<>/dev/tcp/127.0.0.1/${models.port} && echo reached`));
    const ran = await turn(place.thread(model, { sandboxMode: "workspace-write", networkAccessEnabled }), "connect");
    assert.equal(outputs(ran)[0][0], networkAccessEnabled ? "completed" : "failed");
  }
}

export async function every_policy_effort_and_search_mode_is_taken(place, models) {
  const run = async (options, check = () => {}) => {
    const model = models.script();
    const ran = await turn(place.thread(model, options), "x");
    assert.equal(ran.last.type, "turn.completed", JSON.stringify([options, ran.events, ran.error?.message]));
    assert.deepEqual(ran.items.map((item) => item.type), ["agent_message"], JSON.stringify(options));
    check(model.requests[0]);
  };
  for (const approvalPolicy of ["never", "on-request", "on-failure", "untrusted"]) await run({ approvalPolicy });
  for (const modelReasoningEffort of ["minimal", "low", "medium", "high", "xhigh", "max", "ultra", "persistent"]) {
    await run({ modelReasoningEffort }, (request) => assert.equal(effort(request), modelReasoningEffort));
  }
  for (const webSearchMode of ["disabled", "cached", "live"]) await run({ webSearchMode });
  for (const webSearchEnabled of [true, false]) await run({ webSearchEnabled });
  await run({ skipGitRepoCheck: false });
  await run({ threadSource: "user" });
}

export async function flags_of_newer_clients_are_taken(place, models) {
  const thread = place.thread(models.script(), { threadSource: "user" });
  for (const _ of [1, 2]) assert.equal((await thread.run("x", { cyberAccessProgram: "none" })).finalResponse, "ok");
}

export async function settings_come_as_an_object_and_as_strings(place, models) {
  const model = models.script();
  const config = {
    model_provider: "mine",
    model_providers: { mine: { name: "Mine", base_url: model.url, wire_api: "chat", env_key: "MINE", http_headers: { "x-from": 'a "quoted" word' } } },
    sandbox_workspace_write: { writable_roots: [place.folder("root")] },
    features: {},
    notify: ["a", { b: 1 }],
  };
  const configOverrides = ["model_reasoning_effort=high", 'model_providers.mine.query_params={ v = "1" }', "personality=plain words"];
  const ran = await turn(place.thread(model, {}, { config, configOverrides, env: { MINE: "sk-of-mine" } }), "x");
  assert.equal(ran.last.type, "turn.completed", JSON.stringify([ran.events, ran.error?.message]));
  const [{ headers, body, path }] = model.requests;
  assert.deepEqual([headers.authorization, headers["x-from"], path], ["Bearer sk-of-mine", 'a "quoted" word', "v1/chat/completions"]);
  assert.equal(body.reasoning_effort, "high");
}

export async function warnings_are_items_and_unknown_settings_are_no_more_than_that(place, models) {
  const ran = await turn(place.thread(models.script(), {}, { config: { nobody: { knows: 1 } } }), "x");
  assert.equal(ran.last.type, "turn.completed");
  assert.equal(ran.items[0].type, "error");
  assert.match(ran.items[0].message, /nobody/);
  assert.equal(ran.items[0].id, "item_0");
}

export async function an_address_and_a_key_are_enough(place, models) {
  const model = models.script();
  const client = new place.Codex({ codexPathOverride: place.binary, baseUrl: model.url, apiKey: "sk-sdk-test", env: place.env });
  const result = await client.startThread({ model: "gpt-5", workingDirectory: place.folder("bare") }).run("x");
  assert.equal(result.finalResponse, "ok");
  assert.equal(model.requests[0].headers.authorization, "Bearer sk-sdk-test");
  assert.equal(model.requests[0].body.model, "gpt-5");
  assert.equal(model.requests[0].headers.originator, undefined);
}

export async function the_environment_is_the_given_map_or_the_whole_of_the_parents(place, models) {
  const env = "cat /proc/$PPID/environ | tr '\\0' '\\n' | grep SDK_TEST; env | grep SDK_TEST; true";
  process.env.SDK_TEST = "parent";
  const full = { sandboxMode: "danger-full-access" };
  const pass = { harness: "minimal", sandbox: { env_pass: ["SDK_TEST"] } };
  try {
    const mapped = await turn(place.thread(models.script(shell(env)), full, { config: pass, env: { SDK_TEST: "map" } }), "x");
    assert.match(outputs(mapped)[0][1], /SDK_TEST=map/);
    Object.assign(process.env, { TACK_HOME: place.home });
    const whole = models.script(shell(env));
    const client = new place.Codex({ codexPathOverride: place.binary, baseUrl: whole.url, apiKey: "sk-sdk-test", config: pass });
    const ran = await turn(client.startThread({ model: "scripted", workingDirectory: place.folder("whole"), ...full }), "x");
    assert.match(outputs(ran)[0][1], /SDK_TEST=parent/);
  } finally {
    delete process.env.SDK_TEST;
    delete process.env.TACK_HOME;
  }
}
