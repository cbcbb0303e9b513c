// Drives tack through the official Codex SDK, row by row of the exec protocol, with nothing changed
// but the path of the binary: node main.mjs BINARY FOLDER-WITH-node_modules turns|options|ends [ROW].

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Place } from "./kit.mjs";
import { Models } from "./model.mjs";

const [binary, installed, chapter, only = ""] = process.argv.slice(2);
const packages = join(installed, "node_modules/@openai");
assert.deepEqual(readdirSync(packages).sort(), ["codex", "codex-sdk"], "no binary of the other program may be there");
const { Codex } = await import(pathToFileURL(join(packages, "codex-sdk/dist/index.js")));

const rows = Object.entries(await import(`./${chapter}.mjs`)).filter(([name]) => name.includes(only));

setTimeout(() => {
  console.log("FAIL  the rows took longer than five minutes");
  process.exit(1);
}, 300_000).unref();

const models = await new Models().start();
const place = new Place(Codex, binary);
let failed = 0;
for (const [name, row] of rows) {
  try {
    await row(place, models);
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
}
models.stop();
place.clear();
console.log(`${rows.length - failed} of ${rows.length} rows`);
process.exitCode = failed || !rows.length ? 1 : 0;
