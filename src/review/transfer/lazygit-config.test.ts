import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parse } from "yaml";

import { lazygitCommands, withCommands } from "./lazygit-setup.ts";

const COMMANDS = lazygitCommands("trunkline");
const THEIRS = { key: "x", command: "echo hi", context: "files" };

const FILES: Readonly<Record<string, string>> = {
  nothing: "",
  "no end": "gui:\n  theme: {x: [y]}   # mine",
  "no commands": "# a comment\ngui:\n    scrollHeight: 2 # keep\n\n\n# the end\n",
  "indented commands": `# top\ncustomCommands:\n  # mine\n  - key: 'x'\n    command: "echo hi"   # why\n    context: files\n\ngit: {autoFetch: false}\n`,
  "commands that are not": `customCommands:\n- key: x\n  command: echo hi\n  context: files\nos: {}`,
  "commands last": `os: {}\ncustomCommands:\n    -   key: x\n        command: echo hi\n        context: files\n    # trailing\n`,
};

describe("withCommands()", () => {
  for (const [name, text] of Object.entries(FILES)) {
    it(`adds to a file with ${name}, keeps every character of it, and can be removed`, () => {
      const after = withCommands(text, COMMANDS);
      const { customCommands, ...rest } = parse(after) as { customCommands: object[] };
      const before = (parse(text) ?? {}) as { customCommands?: object[] };
      const { customCommands: theirs = [], ...others } = before;
      assert.deepEqual(customCommands, [...theirs, ...COMMANDS]);
      assert.deepEqual(rest, others);
      for (const line of text.split("\n")) assert.ok(after.split("\n").includes(line), line);
      assert.equal(withCommands(after, COMMANDS), after, "doing it again changes nothing");
      assert.equal(withCommands(after, []).trimEnd(), text.trimEnd());
    });
  }

  it("replaces older commands with newer ones", () => {
    const old = withCommands(FILES["indented commands"] ?? "", lazygitCommands("/old/trunkline"));
    const { customCommands } = parse(withCommands(old, COMMANDS)) as { customCommands: object[] };
    assert.deepEqual(customCommands, [THEIRS, ...COMMANDS]);
  });

  it("writes YAML that lazygit reads as intended", () => {
    const text = withCommands("", COMMANDS);
    assert.doesNotMatch(text, /[&*]a\d/);
    assert.match(text, /key: "Y"/);
  });

  it("refuses a file that it cannot extend", () => {
    for (const text of ["- a\n", "a: [", "customCommands: [{key: x}]\n", "customCommands: x\n"]) {
      assert.throws(() => withCommands(text, COMMANDS), { code: "config" }, text);
    }
  });

  it("quotes everything that comes from a person or a repository", () => {
    for (const { command, prompts } of COMMANDS as {
      command: string;
      prompts: { command?: string }[];
    }[]) {
      for (const line of [command, ...prompts.flatMap((prompt) => prompt.command ?? [])]) {
        for (const [, value = ""] of line.matchAll(/\{\{(.*?)\}\}/g)) {
          assert.match(value, /\| quote$|^\.Form\.(?:Line|Severity|Action|Thread)$/);
        }
      }
    }
  });
});
