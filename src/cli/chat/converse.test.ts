import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { Questions } from "../session/questions.ts";
import { Conversation, Keyboard, Screen } from "./chat.ts";

/** A conversation with real key presses and a session that ends its turns when the test says so. */
class Rig implements Disposable {
  readonly input = new PassThrough();
  readonly output = new PassThrough();
  readonly prompts: string[] = [];
  readonly turns: PromiseWithResolvers<{ stopReason: string }>[] = [];
  readonly ended = Promise.withResolvers<void>();
  cancels = 0;
  printed = "";
  readonly questions = new Questions((text) => (this.printed += text));
  readonly conversation: Conversation;
  readonly keyboard: Keyboard;

  constructor() {
    const print = (text: string) => (this.printed += text);
    this.conversation = new Conversation({
      session: {
        sessionId: "s",
        ended: this.ended.promise,
        prompt: (text) => {
          this.prompts.push(text);
          const begun = Promise.withResolvers<{ stopReason: string }>();
          this.turns.push(begun);
          return begun.promise;
        },
        cancel: () => void this.cancels++,
      },
      status: { text: () => "status" },
      screen: new Screen({ out: print, isTerminal: false, color: false, width: () => 80 }),
      text: { end: () => "", running: undefined },
      questions: this.questions,
      color: false,
    });
    this.keyboard = new Keyboard({
      input: this.input,
      output: this.output,
      line: (line) => this.conversation.line(line),
      digit: (digit) => this.conversation.digit(digit),
      interrupt: () => this.conversation.interrupt(),
      end: () => this.conversation.leave(),
    });
    this.conversation.begin(this.keyboard);
  }

  async type(keys: string): Promise<void> {
    this.input.write(keys);
    for (let i = 0; i < 5; i++) await turn();
  }

  get isLeft(): Promise<boolean> {
    return Promise.race([this.conversation.left.then(() => true), turn(false)]);
  }

  get echo(): string {
    let all = "";
    for (let part = this.output.read(); part !== null; part = this.output.read())
      all += String(part);
    return all;
  }

  [Symbol.dispose](): void {
    this.keyboard[Symbol.dispose]();
    for (const { resolve } of this.turns) resolve({ stopReason: "end_turn" });
    this.input.destroy();
    this.output.destroy();
  }
}

/** Readline asks for the kind of terminal. */
for (const kind of ["xterm-256color", "dumb", undefined]) {
  describe(`Conversation, where TERM is ${kind}`, () => {
    const { TERM } = process.env;
    before(() => setTerminal(kind));
    after(() => setTerminal(TERM));

    it("sends each line as a prompt, and shows the prompt again when the turn has ended", async () => {
      using rig = new Rig();
      await rig.type("");
      assert.match(rig.echo, /> /);
      await rig.type("hello\r");
      assert.deepEqual(rig.prompts, ["hello"]);
      void rig.echo;
      await rig.type("typed ahead");
      assert.equal(rig.echo, "");
      rig.turns[0]?.resolve({ stopReason: "end_turn" });
      await rig.type("");
      assert.match(rig.echo, /> typed ahead/);
      assert.equal(rig.printed, "status\n");
    });

    it("queues a line that is typed during a turn", async () => {
      using rig = new Rig();
      await rig.type("one\rtwo\r");
      assert.deepEqual(rig.prompts, ["one", "two"]);
      assert.match(rig.printed, /^> two \(queued\)\n/);
    });

    it("answers a question by one key, and leaves the line empty", async () => {
      using rig = new Rig();
      await rig.type("go\r");
      const chosen = rig.questions.ask("May I?", ["Yes", "No"], new AbortController().signal);
      await rig.type("2");
      assert.equal(await chosen, 1);
      await rig.type("\r");
      rig.turns[0]?.resolve({ stopReason: "end_turn" });
      await rig.type("next\r");
      assert.deepEqual(rig.prompts, ["go", "next"]);
    });

    it("takes a number and Enter where there are more options than keys", async () => {
      using rig = new Rig();
      await rig.type("go\r");
      const names = Array.from({ length: 12 }, (_, at) => `Option ${at}`);
      const chosen = rig.questions.ask("Which?", names, new AbortController().signal);
      await rig.type("12\r");
      assert.equal(await chosen, 11);
    });

    it("cancels the turn with the first Ctrl-C, and leaves with the second", async () => {
      using rig = new Rig();
      await rig.type("go\r");
      await rig.type("\x03");
      assert.equal(rig.cancels, 1);
      assert.equal(await rig.isLeft, false);
      await rig.type("\x03");
      assert.equal(await rig.isLeft, true);
    });

    it("empties a typed line with Ctrl-C, and leaves with Ctrl-D or /exit", async () => {
      using rig = new Rig();
      await rig.type("half\x03");
      assert.equal(rig.cancels, 0);
      assert.equal(await rig.isLeft, false);
      await rig.type("whole\r");
      assert.deepEqual(rig.prompts, ["whole"]);
      await rig.type("\x04");
      assert.equal(await rig.isLeft, true);
      using other = new Rig();
      await other.type("/exit\r");
      assert.equal(await other.isLeft, true);
      assert.deepEqual(other.prompts, []);
    });

    it("tells a failed turn and goes on; a lost connection fails the turn", async () => {
      using rig = new Rig();
      await rig.type("go\r");
      rig.turns[0]?.reject(new Error("No model"));
      await rig.type("");
      await rig.type("again\r");
      assert.match(rig.printed, /^trunkline: No model\n/);
      assert.deepEqual(rig.prompts, ["go", "again"]);
      rig.ended.resolve();
      await rig.type("");
      assert.match(
        rig.printed,
        /trunkline: The connection was closed\. The session is stored\.\n$/,
      );
    });

    it("cancels what runs when the person leaves", async () => {
      using rig = new Rig();
      await rig.type("go\r");
      const gone = rig.conversation.farewell();
      assert.equal(rig.cancels, 1);
      rig.turns[0]?.resolve({ stopReason: "cancelled" });
      await gone;
    });
  });
}

function setTerminal(kind: string | undefined): void {
  if (kind === undefined) delete process.env.TERM;
  else process.env.TERM = kind;
}
