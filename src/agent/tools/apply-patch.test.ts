import assert from "node:assert/strict";
import { chmodSync, existsSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { call, read } from "../../../test/agent/call-tools.ts";
import type { ScriptedCall } from "../../../test/agent/fake-llm.ts";
import { ALLOW } from "../../../test/agent/sample-turn.ts";
import { applyHunks } from "./edit-tools.ts";
import { parsePatch } from "./patch.ts";

const patch = (...lines: string[]): ScriptedCall => {
  const input = ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
  return { name: "apply_patch", arguments: { input } };
};

const CODE = "function a() {\n  return 1;\n}\n\nfunction b() {\n  return 1;\n}\n";

function patched(text: string, ...lines: string[]): string {
  const [file] = parsePatch(
    ["*** Begin Patch", "*** Update File: f", ...lines, "*** End Patch"].join("\n"),
  );
  assert.ok(file?.kind === "update");
  return applyHunks(text, file.hunks, "f").text;
}

describe("apply_patch", () => {
  it("deletes no file that a link leads to", async () => {
    await call([patch("*** Delete File: link")], {
      files: { a: "x\n" },
      first: [read("link")],
      prepare: (rig) => symlinkSync("a", join(rig.cwd, "link")),
      check: (rig, { answers }) => {
        assert.match(answers.at(-1) ?? "", /'link' is a link\. Delete the file that it leads to/);
        assert.equal(rig.read("a"), "x\n");
      },
    });
  });

  it("changes, adds, deletes and renames files after one question", async () => {
    const calls = [
      patch(
        "*** Update File: a.js",
        "@@ function b() {",
        "-  return 1;",
        "+  return 2;",
        "*** Add File: new/n.txt",
        "+one",
        "+",
        "+two",
        "*** Delete File: gone",
        "*** Update File: run.sh",
        "*** Move to: bin/run.sh",
        "@@",
        "-echo 1",
        "+echo 2",
      ),
    ];
    await call(calls, {
      files: { "a.js": CODE, gone: "x\n", "run.sh": "echo 1\n" },
      first: [read("gone")],
      prepare: (rig) => chmodSync(join(rig.cwd, "run.sh"), 0o755),
      check: async (rig, { turn, answers }) => {
        assert.equal(turn.asked.length, 1, answers[0] ?? "");
        assert.equal((turn.asked[0]?.toolCall.content as object[] | undefined)?.length, 5);
        assert.equal(rig.read("a.js"), CODE.replace(/1(?=[^1]*$)/, "2"));
        assert.equal(rig.read("new/n.txt"), "one\n\ntwo\n");
        assert.equal(rig.read("bin/run.sh"), "echo 2\n");
        assert.equal(statSync(join(rig.cwd, "bin/run.sh")).mode & 0o777, 0o755);
        for (const name of ["gone", "run.sh"]) assert.ok(!existsSync(join(rig.cwd, name)));
        await rig.turn("/undo");
        assert.equal(rig.read("gone"), "x\n");
        assert.equal(rig.read("run.sh"), "echo 1\n");
        assert.equal(statSync(join(rig.cwd, "run.sh")).mode & 0o777, 0o755);
        assert.equal(rig.read("a.js"), CODE);
        assert.ok(!existsSync(join(rig.cwd, "new")));
      },
    });
  });

  it("changes nothing if one part does not fit, and says what is there", async () => {
    const calls = [
      patch("*** Update File: a", "-one", "+1", "*** Update File: b", " first", "-thre", "+3"),
      patch("*** Delete File: a"),
      patch("*** Add File: a", "+x"),
      { name: "apply_patch", arguments: { input: "--- a\n+++ b\n" } },
    ];
    await call(calls, {
      files: { a: "one\n", b: "first\nthree\n" },
      check: (rig, { turn, answers }) => {
        assert.match(
          answers[0] ?? "",
          /Part 1 of 1 for 'b' does not fit.*\n {4}1\tfirst\n {4}2\tthree/,
        );
        assert.match(answers[1] ?? "", /you have not read it/);
        assert.match(answers[2] ?? "", /you have not read it/);
        assert.match(answers[3] ?? "", /has to begin with '\*\*\* Begin Patch'/);
        assert.equal(rig.read("a"), "one\n");
        assert.equal(turn.asked.length, 0);
      },
    });
  });

  it("takes back what it has written if a person changed a later file meanwhile", async () => {
    const calls = [patch("*** Update File: a", "-one", "+1", "*** Update File: b", "-two", "+2")];
    let theirs: (() => void) | undefined;
    await call(calls, {
      files: { a: "one\n", b: "two\n" },
      prepare: (rig) => (theirs = () => rig.write("b", "two\ntheirs\n")),
      turn: {
        decide: () => {
          theirs?.();
          return ALLOW;
        },
      },
      check: (rig, { answers }) => {
        assert.match(answers[0] ?? "", /'b' has changed since it was read[^]*\+theirs/);
        assert.equal(rig.read("a"), "one\n");
        assert.equal(rig.read("b"), "two\ntheirs\n");
      },
    });
  });

  it("says in words why it failed, and gives a deleted file its mode again", async () => {
    const lines = ["*** Delete File: run.sh", "*** Add File: a", "+x", "*** Add File: a/b", "+y"];
    await call([patch(...lines)], {
      files: { "run.sh": "echo 1\n" },
      first: [read("run.sh")],
      prepare: (rig) => chmodSync(join(rig.cwd, "run.sh"), 0o755),
      check: (rig, { answers }) => {
        const says = "Cannot write 'a/b': something that is no folder is above it";
        assert.equal(answers.at(-1), says);
        assert.equal(rig.read("run.sh"), "echo 1\n");
        assert.equal(statSync(join(rig.cwd, "run.sh")).mode & 0o777, 0o755);
        assert.ok(!existsSync(join(rig.cwd, "a")));
      },
    });
  });

  it("does not lead out of the workspace, nor into git's own files", async () => {
    const calls = [
      patch("*** Add File: ../x", "+x"),
      patch("*** Add File: .git/hooks/pre-commit", "+x"),
      patch("*** Update File: a", "*** Move to: .git/config", "-one", "+1"),
    ];
    const { codes } = await call(calls, { files: { a: "one\n" } });
    assert.deepEqual(codes, [-31701, -31701, -31701]);
  });
});

describe("applyHunks()", () => {
  it("finds a part by its head, in order, and refuses one that may be in two places", () => {
    assert.equal(
      patched(CODE, "@@ function b() {", "-  return 1;", "+  return 2;"),
      CODE.replace(/1(?=[^1]*$)/, "2"),
    );
    assert.throws(() => patched(CODE, "-  return 1;", "+  return 2;"), /fits in lines 2 and 6/);
    assert.throws(
      () => patched(CODE, "@@ function c() {", "-  x", "+  y"),
      /no line is 'function c\(\) \{'/,
    );
    const both = [
      "@@ function a() {",
      "-  return 1;",
      "+  return 3;",
      "@@ function b() {",
      "-  return 1;",
      "+  return 4;",
    ];
    assert.equal(patched(CODE, ...both), CODE.replace("1", "3").replace("1", "4"));
  });

  it("keeps line ends, and the missing one of a last line", () => {
    assert.equal(patched("a\r\nb\r\n", "-b", "+c"), "a\r\nc\r\n");
    assert.equal(patched("a\nb", "-b", "+c", "*** End of File"), "a\nc");
    assert.equal(patched("a\n", " a", "+b"), "a\nb\n");
    assert.equal(patched("a\n", "-a"), "");
    assert.equal(patched("x\na\nx\n", "-x", "+y", "*** End of File"), "x\na\ny\n");
  });

  it("tolerates blanks and indentation", () => {
    assert.equal(patched("  a  \n    b\n", " a", "-  b", "+  c"), "  a  \n    c\n");
  });
});
