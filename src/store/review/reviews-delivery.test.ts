import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Reviews } from "./reviews.ts";

const REPOSITORY = { gitDir: "/r/.git", root: "/r" };
const REQUEST = { reader: "a", limit: 10, first: "oldest" } as const;

async function withComment(folder: SampleFolder): Promise<Reviews> {
  const reviews = await Reviews.open(folder.path);
  await reviews.add({
    repository: REPOSITORY,
    anchor: { path: "a", side: "new" },
    comment: "one",
    severity: "nit",
    by: "x",
    source: "test",
  });
  return reviews;
}

/** Delivers in another process, which is killed while it sends the answer. Gives the answer's id. */
async function killedWhileSending(folder: SampleFolder, after?: string): Promise<string> {
  const store = JSON.stringify(new URL("reviews.ts", import.meta.url).href);
  const program = `
    const { Reviews } = await import(${store});
    const reviews = await Reviews.open(${JSON.stringify(folder.path)});
    const { id, messages } = await reviews.take(${JSON.stringify({ ...REQUEST, after })});
    if (messages.length > 0) reviews.leaving("a", messages.map(({ seq }) => seq));
    process.stdout.write(messages.length + " " + id, () => process.kill(process.pid, "SIGKILL"));`;
  const args = ["--input-type=module", "--eval", program];
  const killed = promisify(execFile)(process.execPath, args).catch((error: unknown) => error);
  const { stdout } = (await killed) as { stdout: string };
  const [count = "", id = ""] = stdout.split(" ");
  assert.equal(count, "1", stdout);
  return id;
}

const countOf = async (reviews: Reviews, after?: string): Promise<number> =>
  (await reviews.take({ ...REQUEST, after })).messages.length;

describe("takeMessages()", () => {
  it("delivers what a process died on once more, and never a third time", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await withComment(folder);
    await killedWhileSending(folder);
    await killedWhileSending(folder);
    assert.equal(await countOf(reviews), 0);
  });

  it("delivers nothing again that the reader acknowledges", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await withComment(folder);
    const id = await killedWhileSending(folder);
    assert.equal(await countOf(reviews, id), 0);
    assert.equal(await countOf(reviews), 0, "nor to a call that acknowledges nothing");
  });

  it("delivers until it is acknowledged if the reader acknowledges answers", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await withComment(folder);
    await killedWhileSending(folder, "earlier");
    await killedWhileSending(folder, "earlier");
    assert.equal(await countOf(reviews, "earlier"), 1);
  });

  it("accepts an acknowledgement after another client brought the messages back", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await withComment(folder);
    const id = await killedWhileSending(folder);
    // In another repository there is nothing to take.
    assert.deepEqual((await reviews.take({ ...REQUEST, gitDir: "/other" })).messages, []);
    assert.equal(await countOf(reviews, id), 0);
  });

  it("acknowledges only what was delivered to the same reader", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await withComment(folder);
    const id = await killedWhileSending(folder);
    assert.equal((await reviews.take({ ...REQUEST, reader: "b", after: id })).messages.length, 1);
    assert.equal(await countOf(reviews), 1);
  });
});
