import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { noNats } from "../../../test/support/nats-server.ts";
import { Fleet, type FleetNode } from "../../../test/support/shared-fleet.ts";
import { until } from "../../../test/support/until.ts";
import type { NewThread } from "../../store/review/reviews-rows.ts";

const ADA = { by: "ada", role: "person" } as const;
/** Of "text\n". */
const BLOB = "8e27be7d6154a1f68ea9160ef0e18691d20560dc";
const BOT = { by: "bot", role: "agent" } as const;

describe("Shared review threads", { skip: noNats }, () => {
  it("are the same at every node, with their texts", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const anchor = { path: "a.txt", side: "new", line: 3, blob: BLOB } as const;
    const { id } = await a.reviews.add(thread("one", { anchor, content: Buffer.from("text\n") }));
    await until(() => has(b, id));
    assert.deepEqual(await b.reviews.get(id), await a.reviews.get(id));
    await until(async () => (await b.reviews.text(BLOB)) !== undefined);
    assert.equal(Buffer.from((await b.reviews.text(BLOB)) ?? []).toString(), "text\n");
    await b.reviews.reply(id, { ...BOT, text: "done" });
    await until(async () => (await a.reviews.get(id)).state === "answered");
    await a.reviews.resolve(id, ADA);
    await until(async () => (await b.reviews.get(id)).state === "resolved");
    assert.deepEqual(await eventsAt(b, id), await eventsAt(a, id));
    assert.deepEqual(await eventsAt(b, id), ["opened one", "replied done", "resolved "]);
  });

  it("lie in their repository, and have the texts that their ids stand for", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    const { id } = await a.reviews.add(thread("one"));
    await until(async () => (await fleet.keys("thread")).length === 1);
    const [key = ""] = await fleet.keys("thread");
    const document = JSON.parse((await fleet.published("thread", key)) ?? "") as {
      readonly anchor: object;
    };
    const mark = (path: string): string => {
      const { comment, by, at, source } = document as Record<string, unknown>;
      return hash("sha256", JSON.stringify([comment, by, at, path, source])).slice(0, 8);
    };
    for (const path of ["../../.bashrc", ".git/hooks/post-commit", "b.txt"]) {
      const moved = { ...document, id: "moved", anchor: { ...document.anchor, path } };
      await fleet.publish("thread", `moved-${mark(path)}`, JSON.stringify(moved));
    }
    await fleet.publish("text", BLOB, Buffer.from("\0forged\n").toString("base64"));
    await until(() => has(a, "moved"));
    const paths = (await a.reviews.list()).map(({ anchor }) => anchor.path);
    assert.deepEqual(paths.toSorted(), ["a.txt", "b.txt"]);
    assert.ok(await has(a, id));
    const anchor = { path: "a.txt", side: "new", line: 3, blob: BLOB } as const;
    await a.reviews.add(thread("two", { anchor, content: Buffer.from("text\n") }));
    assert.equal(Buffer.from((await a.reviews.text(BLOB)) ?? []).toString(), "text\n");
  });

  it("give a message to a reader of another node, and an agent there does not get a claimed one", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const { id } = await a.reviews.add(thread("one"));
    await until(() => has(b, id));
    const { messages } = await b.reviews.take({ reader: "bot", limit: 9, first: "oldest" });
    assert.deepEqual(
      messages.map(({ text }) => text),
      ["one"],
    );
    await a.reviews.claim({ agent: "bot", lease: 60_000, id });
    await until(async () => (await b.reviews.get(id)).state === "claimed");
    const other = b.reviews.claim({ agent: "other", lease: 60_000, id });
    await assert.rejects(other, /bot has claimed it/);
    await b.reviews.reply(id, { ...ADA, text: "hurry" });
    await until(async () => (await eventsAt(a, id)).includes("replied hurry"));
    // The claim is still that of the agent's own process.
    await a.reviews.reply(id, { ...BOT, text: "done" });
    await until(async () => (await b.reviews.get(id)).state === "answered");
  });

  it("that two nodes change at the same time have both changes, and the same state", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const { id } = await a.reviews.add(thread("one"));
    await until(() => has(b, id));
    await fleet.nats.kill();
    await a.reviews.resolve(id, ADA);
    // Events have the order of their times. Within one millisecond, each node shows its own first.
    const resolved = Date.now();
    await until(() => Date.now() > resolved);
    await b.reviews.reply(id, { ...BOT, text: "done" });
    await fleet.nats.restart();
    for (const node of [a, b]) {
      await until(async () => (await eventsAt(node, id)).length === 3);
      await until(async () => (await node.reviews.get(id)).state === "resolved");
    }
    // One of them may still have them in another order.
    await until(async () => isDeepStrictEqual(await eventsAt(a, id), await eventsAt(b, id)));
  });

  it("of two nodes that join with the same id are both kept", async () => {
    await using fleet = await Fleet.start();
    for (const name of ["a", "b"]) {
      using reviews = await fleet.reviews(name);
      await reviews.add(thread(`by ${name}`, { id: "r00000" }));
    }
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    for (const node of [a, b]) {
      await until(async () => (await node.reviews.list()).length === 2);
      const comments = (await node.reviews.list()).map(({ comment }) => comment);
      assert.deepEqual(comments.toSorted(), ["by a", "by b"]);
    }
    const other = (await b.reviews.list()).find(({ comment }) => comment === "by a");
    await b.reviews.resolve(other?.id ?? "", ADA);
    await until(async () => (await a.reviews.get("r00000")).state === "resolved");
    assert.equal((await b.reviews.get("r00000")).state, "open");
  });

  it("that one node has posted to a forge are known as posted by all", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const { id } = await a.reviews.add(thread("one"));
    await until(() => has(b, id));
    const [opened] = await a.reviews.history(id);
    const remote = {
      thread: { ...thread("one"), fingerprint: "github:x:7" },
      comments: [
        { id: "7", by: "ada", at: 1, text: `one <!-- trunkline:${id}/${opened?.seq} -->` },
      ],
    };
    const known = [{ id, isNew: false, replies: 0 }];
    assert.deepEqual(await a.reviews.remote.keep([remote]), known);
    await a.reviews.reply(id, { ...BOT, text: "done" });
    await until(async () => (await b.reviews.remote.local("/r/.git")).size === 0);
    assert.deepEqual(await b.reviews.remote.keep([{ ...remote, comments: [] }]), known);
  });

  it("that one node has posted to a forge are recognised by another by their text", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const { id } = await a.reviews.add(thread("one"));
    await until(() => has(b, id));
    const text = `one <!-- trunkline:${id}/99999 -->`;
    const remote = {
      thread: { ...thread(text), fingerprint: "github:x:7" },
      comments: [{ id: "7", by: "ada", at: 1, text }],
    };
    const known = [{ id, isNew: false, replies: 0 }];
    assert.deepEqual(await b.reviews.remote.keep([remote]), known);
  });

  it("of a forge that two nodes have imported are one", async () => {
    await using fleet = await Fleet.start();
    for (const name of ["a", "b"]) {
      using reviews = await fleet.reviews(name);
      await reviews.add(thread("one", { fingerprint: "github:x:1", at: 5 }));
    }
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const [own] = await a.reviews.list();
    await a.reviews.reply(own?.id ?? "", { ...BOT, text: "done" });
    await until(async () => (await b.reviews.list())[0]?.state === "answered");
    const [there] = await b.reviews.list();
    await b.reviews.resolve(there?.id ?? "", ADA);
    await until(async () => (await a.reviews.list())[0]?.state === "resolved");
    assert.equal((await a.reviews.list()).length, 1);
    assert.equal((await b.reviews.list()).length, 1);
  });
});

function thread(comment: string, more: Partial<NewThread> = {}): NewThread {
  return {
    repository: { gitDir: "/r/.git", root: "/r", remotes: ["https://forge.example/r"] },
    anchor: { path: "a.txt", side: "new", line: 3 },
    severity: "should",
    by: "ada",
    source: "test",
    comment,
    ...more,
  };
}

async function has({ reviews }: FleetNode, id: string): Promise<boolean> {
  return (await reviews.list()).some((each) => each.id === id);
}

async function eventsAt({ reviews }: FleetNode, id: string): Promise<string[]> {
  return (await reviews.history(id)).map(({ kind, text = "" }) => `${kind} ${text}`);
}
