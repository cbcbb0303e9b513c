// A scripted model on loopback. It answers `…/chat/completions` and `…/responses`, each row of the
// test under a path of its own, so that rows can run side by side.
//
// A reply is { text, calls: [{ name, args }], usage: [input, output] }, { status, message }, or
// "hang", which begins to answer and never ends.

import { createServer } from "node:http";

export class Models {
  #rows = new Map();
  #server = createServer((request, response) => this.#answer(request, response));

  async start() {
    await new Promise((ready) => this.#server.listen(0, "127.0.0.1", ready));
    this.port = this.#server.address().port;
    return this;
  }

  // A model that gives these replies one after another, and "ok" after the last.
  script(...replies) {
    const id = `row${this.#rows.size}`;
    const row = { replies, requests: [], url: `http://127.0.0.1:${this.port}/${id}/v1` };
    this.#rows.set(id, row);
    return row;
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const [, id, ...rest] = new URL(request.url, "http://model").pathname.split("/");
    const row = this.#rows.get(id);
    const path = rest.join("/");
    const wire = { "v1/chat/completions": chat, "v1/responses": responses }[path];
    if (!row || !wire || request.method !== "POST") {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `nothing at ${request.method} ${request.url}` } }));
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const seen = { body, headers: request.headers, path, closed: false };
    row.requests.push(seen);
    response.on("close", () => (seen.closed = !response.writableFinished));
    const reply = row.replies.shift() ?? { text: "ok" };
    if (reply.status) {
      response.writeHead(reply.status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: reply.message, type: "error", code: null } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (reply === "hang") {
      response.flushHeaders();
      return;
    }
    for (const [name, data] of wire(reply, row.requests.length)) {
      response.write(`${name ? `event: ${name}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
    }
    response.end();
  }
}

function* chat({ text, calls = [], usage = [10, 1] }, turn) {
  const chunk = (choices, more) => ["", { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices, ...more }];
  const delta = (delta, finish_reason = null) => chunk([{ index: 0, delta, finish_reason }]);
  if (text) yield delta({ content: text });
  for (const [index, { name, args }] of calls.entries()) {
    const call = { name, arguments: JSON.stringify(args) };
    yield delta({ tool_calls: [{ index, id: `call_${turn}_${index}`, type: "function", function: call }] });
  }
  yield delta({}, calls.length ? "tool_calls" : "stop");
  const [input, output] = usage;
  yield chunk([], { usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } });
  yield ["", "[DONE]"];
}

function* responses({ text, calls = [], usage = [10, 1] }, turn) {
  const head = { id: `resp_${turn}`, object: "response", created_at: 1, model: "m" };
  const event = (type, more) => [type, { type, ...more }];
  yield event("response.created", { response: { ...head, status: "in_progress", output: [] } });
  const items = [];
  if (text) {
    const content = [{ type: "output_text", text, annotations: [] }];
    items.push({ id: `msg_${turn}`, type: "message", role: "assistant", status: "completed", content });
  }
  for (const [index, { name, args }] of calls.entries()) {
    const call = { call_id: `call_${turn}_${index}`, name, arguments: JSON.stringify(args) };
    items.push({ id: `fc_${turn}_${index}`, type: "function_call", status: "completed", ...call });
  }
  for (const [output_index, item] of items.entries()) {
    const at = { item_id: item.id, output_index };
    const begun = item.type === "message" ? { ...item, content: [] } : { ...item, arguments: "" };
    yield event("response.output_item.added", { output_index, item: { ...begun, status: "in_progress" } });
    if (item.type === "message") {
      const part = { type: "output_text", text: "", annotations: [] };
      yield event("response.content_part.added", { ...at, content_index: 0, part });
      yield event("response.output_text.delta", { ...at, content_index: 0, delta: text });
      yield event("response.output_text.done", { ...at, content_index: 0, text });
      yield event("response.content_part.done", { ...at, content_index: 0, part: item.content[0] });
    } else {
      yield event("response.function_call_arguments.delta", { ...at, delta: item.arguments });
      yield event("response.function_call_arguments.done", { ...at, arguments: item.arguments });
    }
    yield event("response.output_item.done", { output_index, item });
  }
  const [input_tokens, output_tokens] = usage;
  const counted = { input_tokens, input_tokens_details: { cached_tokens: 0 }, output_tokens, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: input_tokens + output_tokens };
  yield event("response.completed", { response: { ...head, status: "completed", output: items, usage: counted } });
}

// What a request says, whatever its wire.

export const said = (request) => request.body.messages ?? request.body.input;
export const lastText = (request) => {
  const { content } = said(request).at(-1);
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
};
export const images = (request) =>
  said(request).flatMap((message) => message.content ?? []).filter((part) => ["image_url", "input_image"].includes(part.type));
export const effort = (request) => request.body.reasoning_effort ?? request.body.reasoning?.effort;
export const schema = (request) => request.body.response_format?.json_schema?.schema ?? request.body.text?.format?.schema;
