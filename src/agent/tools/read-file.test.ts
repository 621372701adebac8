import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { call, read } from "../../../test/agent/call-tools.ts";

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

  it("are not opened if reading would never end, nor treated as text if they are binary", async () => {
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

  it("are not written either, because they could not be restored", async () => {
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
