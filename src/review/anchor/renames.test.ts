import assert from "node:assert/strict";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import type { ReviewCommands } from "../review-commands.ts";

/** Functions that have few words in common. */
function code(from: number, to: number, change = (name: string): string => name): string {
  const names = Array.from({ length: to - from }, (_, n) => `task${from + n}`);
  return names
    .map((name) => {
      const inner = `  const ${name}Result = load("${name}", { retries: ${name.length} });`;
      return `function ${name}(first) {\n${change(inner)}\n  return ${name}Result.done;\n}\n`;
    })
    .join("\n");
}

/** The line of `code` that begins a function. */
const lineOf = (n: number): number => 5 * n + 1;

/** The file, line and confidence of a comment. */
async function where(commands: ReviewCommands, id: string): Promise<unknown[]> {
  const { file, line, confidence } = await commands.show(id);
  return [file, line, confidence];
}

async function commented(sample: SampleRepository, ...lines: (number | undefined)[]) {
  const commands = await sample.commands();
  const ids: string[] = [];
  for (const line of lines) {
    const comment = { file: "lib/a.js", line, comment: "Why?", by: "ada", source: "test" };
    ids.push((await commands.add(comment)).id);
  }
  return { commands, ids, [Symbol.dispose]: () => commands[Symbol.dispose]() };
}

function move(sample: SampleRepository, from: string, to: string): void {
  sample.write(to, "");
  renameSync(join(sample.root, from), join(sample.root, to));
}

const edited = (line: string): string =>
  line.replace("load(", "loadAll(").replace("retries", "times");

it("follows comments through two renames with edits, that git sees as another file in the end", async () => {
  using sample = new SampleRepository();
  sample.write("lib/a.js", code(0, 20));
  sample.commit();
  using made = await commented(sample, lineOf(3), undefined);
  sample.write(
    "src/a.js",
    code(0, 20, (line) => (line.length % 2 ? edited(line) : line)),
  );
  rmSync(join(sample.root, "lib"), { recursive: true });
  sample.commit();
  sample.write("src/a.js", `${code(30, 45)}\n${code(0, 20, edited)}`);
  sample.commit();
  sample.write("src/b.js", `${code(50, 60)}\n${code(30, 45, edited)}\n${code(0, 20, edited)}`);
  rmSync(join(sample.root, "src/a.js"));
  sample.commit();
  const [line, whole] = made.ids;
  assert.deepEqual(await where(made.commands, line ?? ""), ["src/b.js", lineOf(28), "exact"]);
  assert.deepEqual(await where(made.commands, whole ?? ""), ["src/b.js", undefined, "high"]);
});

it("follows comments where a file was renamed and formatted at once", async () => {
  using sample = new SampleRepository();
  sample.write("lib/a.js", code(0, 12));
  sample.commit();
  using made = await commented(sample, lineOf(3), lineOf(3) + 1, undefined);
  const formatted = code(0, 12)
    .replaceAll(/load\((.*), \{ (.*) \}\);/g, "load(\n\t\t$1,\n\t\t{ $2 },\n\t)")
    .replaceAll('"', "'")
    .replaceAll(/;$/gm, "")
    .replaceAll("  ", "\t");
  sample.write("lib/a.ts", formatted);
  rmSync(join(sample.root, "lib/a.js"));
  for (const isCommitted of [false, true]) {
    if (isCommitted) sample.commit();
    const places = await Promise.all(made.ids.map((id) => where(made.commands, id)));
    assert.deepEqual(
      places.map(([file, line]) => [file, line]),
      [
        ["lib/a.ts", 8 * 3 + 1],
        ["lib/a.ts", 8 * 3 + 2],
        ["lib/a.ts", undefined],
      ],
    );
  }
});

it("follows each comment to its part of a file that was split, and to where code was moved", async () => {
  using sample = new SampleRepository();
  sample.write("lib/a.js", code(0, 20));
  sample.write("lib/there.js", code(40, 60));
  sample.commit();
  const lines = [2, 8, 17].map(lineOf);
  using made = await commented(sample, ...lines, undefined);
  const split = (): void => {
    sample.write("lib/a/first.js", code(0, 6));
    sample.write("lib/a/second.js", code(6, 15));
    sample.write("lib/there.js", `${code(40, 50)}\n${code(15, 20)}\n${code(50, 60)}`);
    rmSync(join(sample.root, "lib/a.js"));
  };
  split();
  for (const isCommitted of [false, true]) {
    if (isCommitted) sample.commit();
    const places = await Promise.all(made.ids.map((id) => where(made.commands, id)));
    assert.deepEqual(places, [
      ["lib/a/first.js", lineOf(2), "high"],
      ["lib/a/second.js", lineOf(2), "high"],
      ["lib/there.js", lineOf(12), "high"],
      ["lib/a/second.js", undefined, "low"],
    ]);
  }
});

it("follows code out of a file that stays, whose name is used for something else", async () => {
  using sample = new SampleRepository();
  sample.write("lib/a.js", code(0, 10));
  sample.commit();
  using made = await commented(sample, lineOf(4));
  move(sample, "lib/a.js", "lib/a/index.js");
  sample.write("lib/a.js", 'module.exports = require("./a/index");\n');
  sample.commit();
  assert.deepEqual(await where(made.commands, made.ids[0] ?? ""), [
    "lib/a/index.js",
    lineOf(4),
    "exact",
  ]);
});

it("follows comments of a branch that was squashed or rebased, with its renames", async () => {
  using sample = new SampleRepository();
  sample.write("other.js", code(70, 80));
  sample.commit();
  sample.git("checkout", "--quiet", "-b", "work");
  sample.write("lib/a.js", code(0, 12));
  sample.commit();
  using made = await commented(sample, lineOf(5), undefined);
  move(sample, "lib/a.js", "lib/b.js");
  sample.write("lib/b.js", code(0, 12, edited));
  sample.commit();
  const places = () => Promise.all(made.ids.map((id) => where(made.commands, id)));
  const expected = [
    ["lib/b.js", lineOf(5)],
    ["lib/b.js", undefined],
  ];
  const short = async () => (await places()).map(([file, line]) => [file, line]);
  assert.deepEqual(await short(), expected);
  sample.git("checkout", "--quiet", "main");
  sample.write("more.js", code(90, 95));
  sample.commit();
  sample.git("merge", "--quiet", "--squash", "work");
  sample.commit();
  assert.deepEqual(await short(), expected);
  sample.git("checkout", "--quiet", "work");
  sample.git("rebase", "--quiet", "--onto", "main~1", "main~2");
  assert.deepEqual(await short(), expected);
  sample.git("branch", "--quiet", "--delete", "--force", "main");
  sample.git("reflog", "expire", "--expire=now", "--all");
  sample.git("gc", "--quiet", "--prune=now");
  assert.deepEqual(await short(), expected);
});

it("says gone only where the words are: not of lines that every file has", async () => {
  using sample = new SampleRepository();
  const head = '"use strict";\n\nconst fs = require("fs");\n\n';
  sample.write("lib/a.js", `${head}${code(0, 5)}`);
  sample.commit();
  using made = await commented(sample, 1, 3, 4 + lineOf(2), undefined);
  sample.write("lib/new.js", `${head}${code(40, 60)}`);
  rmSync(join(sample.root, "lib/a.js"));
  sample.commit();
  for (const id of made.ids) {
    assert.deepEqual((await where(made.commands, id)).slice(1), [undefined, "gone"]);
  }
});
