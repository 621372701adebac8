import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { until } from "../../../test/support/until.ts";
import { Questions } from "../session/questions.ts";
import type { Ended } from "../../protocol/acp/attach.ts";
import { plainConversation } from "./plain-conversation.ts";

/** A conversation with a session that ends its turns when the test says so. */
class Rig implements Disposable {
  readonly prompts: string[] = [];
  readonly turns: PromiseWithResolvers<Ended>[] = [];
  readonly ended = Promise.withResolvers<void>();
  cancels = 0;
  printed = "";
  readonly questions = new Questions((text) => (this.printed += text));
  readonly conversation = plainConversation({
    session: {
      ended: this.ended.promise,
      prompt: (text) => {
        this.prompts.push(text);
        const begun = Promise.withResolvers<Ended>();
        this.turns.push(begun);
        return begun.promise;
      },
      cancel: () => void this.cancels++,
    },
    status: { text: () => "status" },
    out: (text) => (this.printed += text),
    text: { end: () => "" },
    questions: this.questions,
  });

  async type(...lines: string[]): Promise<void> {
    for (const line of lines) this.conversation.line(line);
    const before = this.prompts.length;
    await until(() => this.prompts.length > before);
  }

  get isLeft(): Promise<boolean> {
    return Promise.race([this.conversation.left.then(() => true), turn(false)]);
  }

  [Symbol.dispose](): void {
    for (const { resolve } of this.turns) resolve({ stopReason: "end_turn" });
  }
}

describe("plainConversation()", () => {
  it("sends a line as a prompt, and asks for the next when the turn has ended", async () => {
    using rig = new Rig();
    await rig.type("hello");
    assert.deepEqual(rig.prompts, ["hello"]);
    assert.equal(rig.printed, "");
    rig.turns[0]?.resolve({ stopReason: "end_turn" });
    await until(() => rig.printed === "status\n> ");
  });

  it("sends lines that are pasted together as one prompt", async () => {
    using rig = new Rig();
    await rig.type("one", "two", "three");
    assert.deepEqual(rig.prompts, ["one\ntwo\nthree"]);
  });

  it("queues what is typed during a turn, and takes only what the question lists as an answer", async () => {
    using rig = new Rig();
    await rig.type("go");
    const { signal } = new AbortController();
    const chosen = rig.questions.ask("May I?", ["Yes", "No"], signal, ["y", "n"]);
    await rig.type("not an answer");
    assert.match(rig.printed, /\(queued\)\n\(The question is still open/);
    rig.conversation.line("");
    rig.conversation.line("2");
    assert.equal(await chosen, 1);
    const next = rig.questions.ask("And this?", ["Yes", "No"], signal, ["y", "n"]);
    assert.match(
      rig.printed,
      /1 or y\) Yes\n {2}2 or n\) No\n {2}Type y or n or a number from 1 to 2\.\n$/,
    );
    rig.conversation.line("y");
    assert.equal(await next, 0);
    assert.deepEqual(rig.prompts, ["go", "not an answer"]);
  });

  it("cancels the turn with the first Ctrl-C, and leaves with the second or /exit", async () => {
    using rig = new Rig();
    await rig.type("go");
    rig.conversation.interrupt();
    assert.equal(rig.cancels, 1);
    assert.equal(await rig.isLeft, false);
    rig.conversation.interrupt();
    assert.equal(await rig.isLeft, true);
    using other = new Rig();
    other.conversation.line("/exit");
    await other.conversation.left;
    assert.deepEqual(other.prompts, []);
  });

  it("leaves for another place with /move, unless a turn runs", async () => {
    using rig = new Rig();
    const prints = (text: RegExp): Promise<void> => until(() => text.test(rig.printed));
    rig.conversation.line("/move");
    await prints(/Say where to/);
    await rig.type("go", "on");
    rig.conversation.line("/move wss://example.com/acp");
    await prints(/A turn is running/);
    assert.equal(await rig.isLeft, false);
    rig.turns[0]?.resolve({ stopReason: "end_turn" });
    await prints(/status\n> $/);
    rig.conversation.line("/move wss://example.com/acp");
    await rig.conversation.left;
    assert.equal(rig.conversation.movesTo, "wss://example.com/acp");
    assert.deepEqual(rig.prompts, ["go\non"]);
  });

  it("tells a failed turn and goes on; a lost connection fails the turn", async () => {
    using rig = new Rig();
    await rig.type("go");
    rig.turns[0]?.reject(new Error("No model"));
    await until(() => rig.printed === "trunkline: No model\n> ");
    await rig.type("again");
    rig.ended.resolve();
    await until(() => rig.printed.includes("The connection was closed. The session is stored."));
  });

  it("cancels what runs when the person leaves", async () => {
    using rig = new Rig();
    await rig.type("go");
    const gone = rig.conversation.farewell();
    assert.equal(rig.cancels, 1);
    rig.turns[0]?.resolve({ stopReason: "cancelled" });
    await gone;
  });
});
