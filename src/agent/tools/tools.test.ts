import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Offer } from "../../tool/offer/offer.ts";
import { call, read } from "../../../test/agent/call-tools.ts";
import { ALLOW } from "../../../test/agent/sample-turn.ts";

describe("files that cannot be read", () => {
  it("are refused with the codes of the specification", async () => {
    const paths = ["missing.txt", "../outside.txt", "/etc/passwd", "link", "huge.bin", "folder"];
    const { codes, turn } = await call(
      paths.map((path) => read(path)),
      {
        prepare: (rig) => {
          symlinkSync("/etc/passwd", join(rig.cwd, "link"));
          mkdirSync(join(rig.cwd, "folder"));
          rig.write("huge.bin", "");
          truncateSync(join(rig.cwd, "huge.bin"), 11 * 1024 * 1024);
        },
      },
    );
    assert.deepEqual(codes, [-31700, -31701, -31701, -31701, -31702, -31700]);
    assert.ok(turn.ends.every((end) => end === "failed"));
  });

  it("are not opened when reading them would never end, nor taken for text when they are none", async () => {
    const { answers } = await call([read("device"), read("binary"), read("latin")], {
      prepare: (rig) => {
        symlinkSync("/dev/zero", join(rig.cwd, "device"));
        writeFileSync(join(rig.cwd, "binary"), Buffer.from([0x61, 0, 0x62]));
        writeFileSync(join(rig.cwd, "latin"), Buffer.from([0x61, 0xe9, 0x62]));
      },
    });
    assert.match(answers[0] ?? "", /leads out of the workspace/);
    assert.match(answers[1] ?? "", /not a text in UTF-8/);
    assert.match(answers[2] ?? "", /not a text in UTF-8/);
  });

  it("are not written either: what cannot come back as it was is left alone", async () => {
    const content = Buffer.from([0x61, 0xe9, 0x62]);
    const write = { name: "write_file", arguments: { path: "latin", content: "x" } };
    const hook = { name: "write_file", arguments: { path: ".git/hooks/pre-commit", content: "x" } };
    const { turn, codes } = await call([write, hook], {
      prepare: (rig) => writeFileSync(join(rig.cwd, "latin"), content),
    });
    assert.deepEqual(turn.ends, ["failed", "failed"]);
    assert.equal(codes[1], -31701);
    assert.equal(turn.asked.length, 0);
  });
});

describe("read_file", () => {
  it("reads a part, and says how to read on", async () => {
    const text = Array.from({ length: 50 }, (_, index) => `line ${index + 1}\n`).join("");
    const { answers } = await call([read("a", { line: 10, limit: 2 }), read("a", { line: 99 })], {
      files: { a: text },
    });
    assert.equal(
      answers[0],
      "   10\tline 10\n   11\tline 11\n(Lines 10 to 11 of 50; read on from line 12.)",
    );
    assert.match(answers[1] ?? "", /only 50 lines/);
  });
});

describe("changes of files", () => {
  it("of a large one are shown as the lines around what changes", async () => {
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

  it("are not made when the file changes while the person is asked", async () => {
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

  it("never put the mask of a secret into a file", async () => {
    const secret = `key = "ghp_${"a1".repeat(18)}"\nname = "x"\n`;
    const whole = { path: ".env", content: 'key = "•••"\nname = "y"\n' };
    const part = { path: ".env", old_string: 'name = "x"', new_string: 'name = "y"' };
    await call(
      [
        read(".env"),
        { name: "write_file", arguments: whole },
        { name: "edit_file", arguments: part },
      ],
      {
        files: { ".env": secret },
        check: (rig, { answers, turn }) => {
          assert.match(answers[0] ?? "", /key = "•••"/);
          assert.match(answers[1] ?? "", /stands for a secret/);
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

describe("run_command", () => {
  it("keeps the beginning and the end of what is said without end", async () => {
    const command = "echo first; yes filler | head -c 5000000; echo last; exit 4";
    const { answers } = await call([{ name: "run_command", arguments: { command } }]);
    assert.match(answers[0] ?? "", /^first\n/);
    assert.match(answers[0] ?? "", /characters left out/);
    assert.match(answers[0] ?? "", /last\n\(exit code 4\)$/);
    assert.ok((answers[0]?.length ?? Infinity) < 40_000);
  });

  it("gives a command nothing to read, and leaves nothing running behind it", async () => {
    const command = "cat; nohup sleep 91 >/dev/null 2>&1 & echo done";
    const { answers } = await call([{ name: "run_command", arguments: { command } }]);
    assert.match(answers[0] ?? "", /done\n\(exit code 0\)/);
  });

  it("is asked about with the whole command, and always only for that one", async () => {
    const command = "rm -rf build";
    const { turn } = await call([{ name: "run_command", arguments: { command } }]);
    assert.equal(turn.asked[0]?.toolCall.title, command);
    assert.equal(turn.asked[0]?.subject, `run ${command}`);
  });
});

describe("git tools", () => {
  it("show and commit, but take no options in the place of names", async () => {
    await call(
      [
        { name: "git_diff", arguments: {} },
        { name: "git_diff", arguments: { base: "--output=/tmp/evil" } },
        { name: "git_commit", arguments: { message: "--amend", paths: ["a"] } },
        { name: "git_log", arguments: { limit: 2 } },
        { name: "git_status", arguments: {} },
      ],
      {
        files: { a: "1\n", b: "1\n" },
        prepare: (rig) => {
          rig.commitAll();
          rig.write("a", "2\n");
          rig.write("b", "2\n");
        },
        check: (rig, { answers, turn }) => {
          assert.match(answers[0] ?? "", /-1\n\+2/);
          assert.deepEqual(turn.ends, [
            "completed",
            "failed",
            "completed",
            "completed",
            "completed",
          ]);
          const top = rig.git("rev-parse", "--show-toplevel").trim();
          assert.ok(answers[2]?.startsWith(`Repository: ${top}\n`), String(answers[2]));
          assert.match(answers[3] ?? "", /T: --amend\n.*T: start/);
          assert.match(answers[4] ?? "", /## main\n M b/);
          assert.equal(turn.asked.length, 1);
          assert.equal(rig.git("log", "-1", "--format=%s").trim(), "--amend");
        },
      },
    );
  });
});

describe("list_files", () => {
  it("lists a folder, and files by a pattern, without following links out", async () => {
    const calls = [
      { name: "list_files", arguments: { depth: 1 } },
      { name: "list_files", arguments: { pattern: "*.ts" } },
      { name: "list_files", arguments: { path: "../" } },
      { name: "list_files", arguments: { path: "nope" } },
    ];
    const { answers } = await call(calls, {
      files: { "src/deep/a.ts": "", "b.ts": "", "node_modules/x/c.ts": "" },
      prepare: (rig) => symlinkSync("/etc", join(rig.cwd, "out")),
    });
    assert.equal(answers[0], "b.ts\nnode_modules/\nout\nsrc/");
    assert.equal(answers[1], "b.ts\nsrc/deep/a.ts");
    assert.match(answers[2] ?? "", /outside of the workspace/);
    assert.match(answers[3] ?? "", /Cannot list 'nope'/);
  });
});

describe("a tool that takes too long", () => {
  it("is given up with the code of the specification; a person may take their time", async () => {
    const offer = new Offer();
    const definition = { name: "slow", inputSchema: { type: "object" } };
    const waits = Promise.withResolvers<never>();
    offer.tools.add({ definition, call: () => waits.promise, limits: { timeout: 50 } });
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

  it("of ours is given up as well", async () => {
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
