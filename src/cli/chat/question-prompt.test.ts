import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { QuestionPrompt } from "./question-prompt.ts";
import type { Key } from "./terminal-input.ts";

const OPTIONS = [
  { optionId: "once", kind: "allow_once", name: "Allow" },
  { optionId: "always", kind: "allow_always", name: "Always allow in /a: run npm test" },
  { optionId: "other", kind: "allow_always", name: "Always" },
  { optionId: "no", kind: "reject_once", name: "Reject" },
] as const;

const key = (name: string): Key => ({
  name,
  text: name.length === 1 ? name : "",
  ctrl: false,
  meta: false,
  shift: false,
});

/** A prompt at a clock that the test moves, with timers of the same clock. */
class Rig implements Disposable {
  now = 10_000;
  readonly late: string[] = [];
  readonly answers: (string | null | undefined)[] = [];
  readonly prompt = new QuestionPrompt(
    () => {},
    () => this.now,
  );

  constructor() {
    mock.timers.enable({ apis: ["setTimeout"] });
  }

  ask(
    title = "Run npm test",
    options: { readonly signal?: AbortSignal; readonly why?: string } = {},
  ) {
    const { signal = new AbortController().signal, why } = options;
    const params = {
      sessionId: "s",
      toolCall: { toolCallId: "t", title },
      options: OPTIONS,
      _meta: { trunkline: { why } },
    };
    const asked = this.prompt.permit(params, signal);
    asked.then(
      (answer) => this.answers.push(answer),
      () => {},
    );
  }

  press(name: string, isEmpty = true): string {
    return this.prompt.press(key(name), isEmpty, (each) => this.late.push(each.name));
  }

  async pass(milliseconds: number): Promise<void> {
    this.now += milliseconds;
    mock.timers.tick(milliseconds);
    await Promise.resolve();
    await Promise.resolve();
  }

  [Symbol.dispose](): void {
    mock.timers.reset();
  }
}

describe("QuestionPrompt", () => {
  it("takes a key after half a second without one, if none follows at once", async () => {
    using rig = new Rig();
    rig.ask();
    await rig.pass(600);
    assert.equal(rig.press("y"), "held");
    await rig.pass(200);
    assert.deepEqual(rig.answers, []);
    await rig.pass(200);
    assert.deepEqual(rig.answers, ["once"]);
    assert.equal(rig.prompt.isOpen, false);
  });

  it("takes no key that came soon after another, or after the question itself", async () => {
    using rig = new Rig();
    rig.ask();
    await rig.pass(100);
    assert.equal(rig.press("y"), "text");
    await rig.pass(600);
    assert.equal(rig.press("q"), "text");
    await rig.pass(499);
    assert.equal(rig.press("y"), "text");
    await rig.pass(10_000);
    assert.deepEqual(rig.answers, []);
  });

  it("takes no key that is the beginning of a word", async () => {
    using rig = new Rig();
    rig.ask();
    await rig.pass(600);
    assert.equal(rig.press("y"), "held");
    await rig.pass(150);
    assert.equal(rig.press("e"), "text");
    assert.deepEqual(rig.late, ["y"]);
    await rig.pass(10_000);
    assert.deepEqual(rig.answers, []);
  });

  it("takes no key where a text is typed, until Tab has moved to the question", async () => {
    using rig = new Rig();
    rig.ask();
    await rig.pass(10_000);
    assert.equal(rig.press("y", false), "text");
    assert.equal(rig.press("tab", false), "used");
    assert.equal(rig.press("return", false), "used");
    assert.equal(rig.press("enter", false), "used");
    await rig.pass(10_000);
    assert.deepEqual(rig.answers, []);
    assert.equal(rig.press("n", false), "used");
    await rig.pass(0);
    assert.deepEqual(rig.answers, ["no"]);
  });

  it("never takes Enter, whatever was pressed before", async () => {
    using rig = new Rig();
    rig.ask();
    await rig.pass(10_000);
    assert.equal(rig.press("return"), "text");
    await rig.pass(10_000);
    assert.deepEqual(rig.answers, []);
  });

  it("does not let an answer reach the question after it", async () => {
    using rig = new Rig();
    rig.ask("first");
    rig.ask("second");
    rig.press("tab");
    rig.press("y");
    assert.equal(rig.press("y"), "text");
    await rig.pass(10_000);
    assert.deepEqual(rig.answers, ["once"]);
  });

  it("says what always covers, and gives every option a key", () => {
    using rig = new Rig();
    rig.ask();
    const rows = rig.prompt.rows(200, 20).rows.map((row) => row.map(({ text }) => text).join(""));
    assert.deepEqual(rows.slice(1, 5), [
      "  y Allow",
      "  a Always allow in /a: run npm test",
      '  3 Always \u2013 for calls like "Run npm test"; the agent decides which those are',
      "  n Reject",
    ]);
  });

  it("is withdrawn when somebody else has answered, and tells why an answer would not count", async () => {
    using rig = new Rig();
    const controller = new AbortController();
    rig.ask("first", { signal: controller.signal });
    await rig.pass(600);
    rig.press("y");
    controller.abort();
    await rig.pass(600);
    assert.deepEqual(rig.answers, [undefined]);
    rig.ask("second", { why: "only the owner may answer" });
    rig.press("tab");
    rig.press("y");
    await rig.pass(600);
    assert.equal(rig.prompt.isOpen, true);
    assert.match(JSON.stringify(rig.prompt.rows(80, 20)), /only the owner may answer/);
  });
});
