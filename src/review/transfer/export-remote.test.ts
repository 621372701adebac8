import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sampleLines, SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import { TrunklineError } from "../../base/errors.ts";
import { exportRemote } from "./export-remote.ts";
import { importRemote } from "./import-remote.ts";
import type { RemoteReview, RemoteThread } from "./remote-thread.ts";

function remote(n: number): RemoteThread {
  const comments = [{ id: "1", by: "octocat", at: 1, text: `comment ${n}` }];
  return { key: `github:x:${n}`, path: "a.txt", side: "new", places: [], comments };
}

/** A forge as exportRemote() sees it. The whole way is in src/cli/review/pull-request.test.ts. */
class FakeReview implements RemoteReview {
  readonly name = "o/r#1";
  readonly said: string[] = [];
  readonly all: readonly RemoteThread[];
  isBroken = false;

  constructor(count: number) {
    this.all = Array.from({ length: count }, (_, n) => remote(n));
  }

  async threads() {
    return { threads: this.all, refused: [], general: 0 };
  }

  async reply(_: RemoteThread, text: string): Promise<string> {
    if (this.isBroken) throw new TrunklineError("unavailable", "No.");
    this.said.push(text);
    return `new ${this.said.length}`;
  }

  async resolve(): Promise<void> {}

  head(): Promise<string> {
    throw new Error("nothing new is posted here");
  }

  async open(): Promise<void> {}
}

const inert = (text: string): string => `inert ${text}`;

describe("exportRemote()", () => {
  it("makes text of agents inert, since they read what strangers wrote", async () => {
    using sample = new SampleRepository();
    sample.write("a.txt", sampleLines(3));
    using commands = await sample.commands();
    const review = new FakeReview(2);
    await importRemote(commands, await review.threads(), review.name);
    const [one, two] = await commands.list();
    await commands.say("reply", one?.id ?? "", { by: "bot", role: "agent", text: "/merge" });
    await commands.say("reply", two?.id ?? "", { by: "ada", role: "person", text: "/merge" });
    await exportRemote(commands, review, { inert, isTrial: false });
    assert.deepEqual(
      review.said.map((text) => text.split("\n")[0]),
      ["inert /merge", "/merge"],
    );
  });

  it("imports comments of spaces as soon as others", async () => {
    using sample = new SampleRepository();
    using commands = await sample.commands();
    const text = `a${" ".repeat(99_000)}b`;
    const comments = Array.from({ length: 30 }, (_, n) => ({
      id: `${n + 1}`,
      by: "eve",
      at: n,
      text,
    }));
    const threads = [{ ...remote(1), comments }];
    await importRemote(commands, { threads: [remote(1)], refused: [], general: 0 }, "o/r#1");
    const { replies } = await importRemote(commands, { threads, refused: [], general: 0 }, "o/r#1");
    assert.equal(replies, 29);
  });

  it("goes on after a failure, and gives up after three in a row", async () => {
    using sample = new SampleRepository();
    using commands = await sample.commands();
    const review = new FakeReview(5);
    await importRemote(commands, await review.threads(), review.name);
    for (const { id } of await commands.list()) {
      await commands.say("reply", id, { by: "ada", role: "person", text: "so" });
    }
    review.isBroken = true;
    const { refused } = await exportRemote(commands, review, { inert, isTrial: false });
    assert.equal(refused.length, 3);
    review.isBroken = false;
    const { posted } = await exportRemote(commands, review, { inert, isTrial: false });
    assert.equal(posted.length, 5);
  });
});
