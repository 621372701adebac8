import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { call, read } from "../../../test/agent/call-tools.ts";
import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { ALLOW } from "../../../test/agent/sample-turn.ts";

describe("file changes", () => {
  it("to a large file are shown with the lines around them", async () => {
    const lines = Array.from({ length: 40_000 }, (_, index) => `line ${index}`);
    const edit = { path: "big", old_string: "line 20000\n", new_string: "changed\n" };
    const { turn } = await call([{ name: "edit_file", arguments: edit }], {
      files: { big: lines.join("\n") },
    });
    const [diff] = (turn.asked[0]?.toolCall.content ?? []) as {
      newText: string;
      oldText: string;
    }[];
    assert.match(diff?.newText ?? "", /line 19999\nchanged\nline 20001/);
    assert.ok((diff?.newText.length ?? Infinity) < 2_000);
    assert.ok(Array.isArray(turn.asked[0]?.toolCall.locations));
    assert.deepEqual(turn.ends, ["completed"]);
  });

  it("are not made if the file changes while the person is asked", async () => {
    const edit = { path: "a", old_string: "one", new_string: "two" };
    await call([{ name: "edit_file", arguments: edit }], {
      files: { a: "one\n" },
      check: (rig, { answers }) => {
        assert.match(answers[0] ?? "", /has changed since it was read/);
        assert.equal(rig.read("a"), "the person's\n");
      },
      turn: {
        decide: (request) => {
          writeFileSync(
            (request.toolCall.locations as { path: string }[])[0]?.path ?? "",
            "the person's\n",
          );
          return ALLOW;
        },
      },
    });
  });

  it("leave a file as it was, and no new one, where the disk is full", async () => {
    const longer = { path: "a", old_string: "one", new_string: "longer than before" };
    const calls = [
      { name: "edit_file", arguments: longer },
      { name: "write_file", arguments: { path: "new", content: "xy" } },
    ];
    const faults: Disposable[] = [];
    try {
      await call(calls, {
        files: { a: "one\n" },
        prepare: (rig) => {
          const disk = new DiskFaults(rig.cwd);
          disk.decide = ({ operation }) => (operation.startsWith("write") ? "torn" : undefined);
          faults.push(disk);
        },
        check: (rig, { answers, turn }) => {
          assert.deepEqual(turn.ends, ["failed", "failed"]);
          assert.match(
            answers[0] ?? "",
            /^Cannot write 'a': no space left.*Free some space on its disk/,
          );
          assert.match(answers[1] ?? "", /^Cannot write 'new': no space left/);
          assert.equal(rig.read("a"), "one\n");
          assert.ok(!existsSync(join(rig.cwd, "new")));
        },
      });
    } finally {
      for (const fault of faults) fault[Symbol.dispose]();
    }
  });

  it("never write the mask of a secret to a file", async () => {
    const secret = `key = "ghp_${"a1".repeat(18)}"\nname = "x"\n`;
    const whole = { path: ".env", content: 'key = "•••"\nname = "y"\n' };
    const part = { path: ".env", old_string: 'name = "x"', new_string: 'name = "y"' };
    await call(
      [
        { name: "write_file", arguments: whole },
        { name: "edit_file", arguments: part },
      ],
      {
        files: { ".env": secret },
        first: [read(".env")],
        check: (rig, { answers, turn }) => {
          assert.match(answers[0] ?? "", /stands for a secret/);
          assert.deepEqual(turn.ends, ["completed", "failed", "completed"]);
          assert.equal(rig.read(".env"), secret.replace('"x"', '"y"'));
        },
      },
    );
  });

  it("are made all or none by multi_edit", async () => {
    const edits = [
      { old_string: "a", new_string: "b" },
      { old_string: "zzz", new_string: "" },
    ];
    await call([{ name: "multi_edit", arguments: { path: "f", edits } }], {
      files: { f: "a\n" },
      check: (rig, { turn }) => {
        assert.deepEqual(turn.ends, ["failed"]);
        assert.equal(rig.read("f"), "a\n");
      },
    });
  });
});
