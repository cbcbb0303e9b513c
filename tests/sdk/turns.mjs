// Rows about what happens in a turn: events, items, threads, answers in a form, images.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, kinds, shell, turn } from "./kit.mjs";
import { images, lastText, said, schema } from "./model.mjs";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489", "hex");

export async function a_turn_gives_its_last_message_and_its_items(place, models) {
  const model = models.script({ text: "Looking.", ...shell("echo hi") }, { text: "Done.", usage: [20, 2] });
  const thread = place.thread(model);
  assert.equal(thread.id, null);
  const result = await thread.run("do it");
  assert.equal(result.finalResponse, "Done.");
  assert.deepEqual(result.items.map((item) => item.type), ["agent_message", "command_execution", "agent_message"]);
  assert.deepEqual([result.usage.input_tokens, result.usage.output_tokens], [30, 3]);
  for (const field of ["cached_input_tokens", "cache_write_input_tokens", "reasoning_output_tokens"]) {
    assert.equal(result.usage[field], 0, field);
  }
  assert.equal(lastText(model.requests[0]), "do it");
  assert.match(thread.id, /^[0-9a-f-]{36}$/);
}

export async function events_stream_in_order_and_as_they_happen(place, models) {
  const model = models.script({ text: "Looking.", ...shell("echo out; echo err >&2; exit 3") }, shell("true"), { text: "Done." });
  const thread = place.thread(model);
  const ran = await turn(thread, "do it");
  assert.deepEqual(kinds(ran), [
    "thread.started",
    "turn.started",
    "item.completed agent_message",
    "item.started command_execution",
    "item.completed command_execution",
    "item.started command_execution",
    "item.completed command_execution",
    "item.completed agent_message",
    "turn.completed",
  ]);
  assert.equal(ran.events[0].thread_id, thread.id);
  const [begun, failed, , good] = ran.events.slice(3).map((event) => event.item);
  assert.deepEqual([begun.status, begun.aggregated_output, begun.exit_code], ["in_progress", "", null]);
  assert.match(begun.command, /^bash -c '.*exit 3'$/);
  assert.deepEqual([failed.id, failed.status, failed.exit_code], [begun.id, "failed", 3]);
  assert.match(failed.aggregated_output, /out[^]*err/);
  assert.deepEqual([good.status, good.exit_code], ["completed", 0]);
  assert.deepEqual(ran.items.map((item) => item.id), ["item_0", "item_1", "item_2", "item_3"]);

  // A command is heard of while it runs: this one ends only after it was.
  const waiting = place.thread(models.script(shell("until [ -e go ]; do sleep 0.01; done"), { text: "Done." }));
  for await (const event of (await waiting.runStreamed("wait")).events) {
    if (event.type === "item.started") writeFileSync(join(waiting.cwd, "go"), "");
  }
  assert.ok(existsSync(join(waiting.cwd, "go")));
}

export async function file_changes_are_items_with_absolute_paths(place, models) {
  place.file("home/harnesses/patching/harness.toml", 'schema = 1\nid = "patching"\nextends = "minimal"\n');
  const tool = '[patch]\ndoes = "patch"\nabout = "Apply a patch."\n[patch.params]\ninput = { type = "string", required = true, to = "text", about = "The patch." }\n';
  place.file("home/harnesses/patching/tools.toml", tool);
  const patch = "*** Begin Patch\n*** Add File: b.txt\n+b\n*** Update File: a.txt\n@@\n-a\n+A\n*** Delete File: old.txt\n*** End Patch";
  const model = models.script(
    call("write", { path: "a.txt", content: "a\n" }),
    call("write", { path: "old.txt", content: "old\n" }),
    call("read", { path: "old.txt" }),
    call("patch", { input: patch }),
    call("edit", { path: "a.txt", oldText: "nowhere", newText: "x" }),
  );
  const thread = place.thread(model, {}, { config: { harness: "patching" } });
  const ran = await turn(thread, "change it");
  const at = (name) => join(thread.cwd, name);
  const changes = ran.events.filter(({ item }) => item?.type === "file_change");
  const add = (name) => [{ path: at(name), kind: "add" }];
  const three = [{ path: at("b.txt"), kind: "add" }, { path: at("a.txt"), kind: "update" }, { path: at("old.txt"), kind: "delete" }];
  const failed = [{ path: at("a.txt"), kind: "update" }];
  assert.deepEqual(
    changes.map(({ type, item }) => [type, item.status, item.changes]),
    [
      ["item.started", "in_progress", add("a.txt")],
      ["item.completed", "completed", add("a.txt")],
      ["item.started", "in_progress", add("old.txt")],
      ["item.completed", "completed", add("old.txt")],
      ["item.started", "in_progress", three],
      ["item.completed", "completed", three],
      ["item.started", "in_progress", failed],
      ["item.completed", "failed", failed],
    ],
  );
  assert.equal(readFileSync(at("a.txt"), "utf8"), "A\n");
  assert.ok(!existsSync(at("old.txt")));
}

export async function a_task_list_starts_is_updated_and_completes_last(place, models) {
  const todo = (...statuses) => call("todo_write", { todos: statuses.map((status, n) => ({ id: `${n}`, content: `step ${n}`, status })) });
  const model = models.script(todo("in_progress", "pending"), todo("completed", "in_progress"), todo("completed", "completed"), { text: "Done." });
  const ran = await turn(place.thread(model, {}, { config: { harness: "qwen-code" } }), "plan");
  const lists = ran.events.filter(({ item }) => item?.type === "todo_list");
  assert.deepEqual(lists.map((event) => event.type), ["item.started", "item.updated", "item.updated", "item.completed"]);
  assert.equal(new Set(lists.map(({ item }) => item.id)).size, 1);
  assert.deepEqual(lists[1].item.items, [{ text: "step 0", completed: true }, { text: "step 1", completed: false }]);
  assert.deepEqual(kinds(ran).slice(-3), ["item.completed agent_message", "item.completed todo_list", "turn.completed"]);
}

export async function turns_of_a_thread_add_up(place, models) {
  const model = models.script({ text: "one", usage: [100, 10] }, { text: "two", usage: [100, 10] }, { text: "three", usage: [100, 10] });
  const thread = place.thread(model);
  const first = await thread.run("first");
  const id = thread.id;
  const second = await turn(thread, "second");
  assert.equal(thread.id, id);
  assert.deepEqual(second.events[0], { type: "thread.started", thread_id: id });
  assert.equal(second.items[0].id, "item_0");
  assert.deepEqual([first.usage.input_tokens, second.last.usage.input_tokens], [100, 200]);

  // By its id alone, in another folder, with another model.
  const elsewhere = place.folder("elsewhere");
  const again = place.client(model).resumeThread(id, { workingDirectory: elsewhere, model: "another" });
  const third = await again.run("third");
  assert.deepEqual([again.id, third.usage.input_tokens, third.usage.output_tokens], [id, 300, 30]);
  const texts = said(model.requests[2]).filter(({ role }) => ["user", "assistant"].includes(role)).map((message) => JSON.stringify(message.content));
  for (const [n, word] of ["first", "one", "second", "two", "third"].entries()) assert.ok(texts.some((text) => text.includes(word)), `${n} ${texts}`);
  assert.equal(model.requests[2].body.model, "another");
  assert.ok(JSON.stringify(model.requests[2].body).includes(elsewhere));
}

export async function an_answer_has_the_form_of_the_schema_for_that_turn(place, models) {
  const wanted = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
  const good = '{"city":"Oslo"}';
  const model = models.script(shell("echo looked"), { text: good }, { text: "free" });
  const thread = place.thread(model);
  const result = await thread.run("which city?", { outputSchema: wanted });
  assert.deepEqual(JSON.parse(result.finalResponse), { city: "Oslo" });
  assert.equal((await thread.run("and?")).finalResponse, "free");
  assert.equal(schema(model.requests[2]), undefined);

  const second = models.script({ text: "It is Oslo." }, { text: good });
  assert.equal((await place.thread(second).run("which?", { outputSchema: wanted })).finalResponse, good);
  assert.deepEqual(schema(second.requests[1]), wanted);

  const never = models.script({ text: "Oslo" }, { text: '{"town":"Oslo"}' }, { text: good });
  await assert.rejects(place.thread(never).run("which?", { outputSchema: wanted }), /output schema.*city/);
  assert.equal(never.requests.length, 2);
}

export async function inputs_are_joined_and_images_go_along(place, models) {
  const model = models.script();
  const thread = place.thread(model);
  const [a, b] = [place.file("a b.png", PNG), place.file("c,d.png", PNG)];
  const input = (...paths) => [{ type: "text", text: "what" }, ...paths.map((path) => ({ type: "local_image", path })), { type: "text", text: "is this?" }];
  await thread.run(input(a, b));
  assert.equal(images(model.requests[0]).length, 2);
  assert.match(JSON.stringify(said(model.requests[0])), /what\\n\\nis this\?/);
  // After `resume ID`, too.
  await thread.run(input(a));
  assert.equal(images(model.requests[1]).length, 3);
  await assert.rejects(thread.run([{ type: "text", text: "x" }, { type: "local_image", path: "/nowhere.png" }]), /nowhere\.png/);
}

export async function two_threads_run_at_once(place, models) {
  const meet = place.folder("meet");
  // Each waits for the other, so neither ends unless both run.
  const script = (own, other) => models.script(shell(`touch ${own}; until [ -e ${other} ]; do sleep 0.01; done`), { text: own });
  const one = place.thread(script("a", "b"), { workingDirectory: meet });
  const two = place.thread(script("b", "a"), { workingDirectory: meet });
  const results = await Promise.all([one.run("go"), two.run("go")]);
  assert.deepEqual(results.map((result) => result.finalResponse), ["a", "b"]);
  assert.notEqual(one.id, two.id);
}
