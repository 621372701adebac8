import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { call } from "../../../test/agent/call-tools.ts";
import { initRepository } from "../../../test/support/stored-folder.ts";

describe("git tools", () => {
  it("show and commit, but do not accept options in place of names", async () => {
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

  it("take names for names, not for patterns that other files match", async () => {
    const paths = ["[ab]"];
    await call(
      [
        { name: "git_diff", arguments: { paths } },
        { name: "git_commit", arguments: { message: "One", paths } },
      ],
      {
        files: { "[ab]": "1\n", a: "1\n" },
        prepare: (rig) => {
          rig.commitAll();
          rig.write("[ab]", "2\n");
          rig.write("a", "other\n");
        },
        check: (rig, { answers }) => {
          assert.match(answers[0] ?? "", /\+2/);
          assert.doesNotMatch(answers[0] ?? "", /other/);
          assert.equal(rig.git("show", "--name-only", "--format=").trim(), "[ab]");
        },
      },
    );
  });

  it("show nothing of a repository outside of the workspace", async () => {
    await call(
      [
        { name: "git_diff", arguments: {} },
        { name: "git_diff", arguments: { staged: true } },
        { name: "git_diff", arguments: { base: "HEAD" } },
        { name: "git_diff", arguments: { base: "HEAD:outside", paths: ["a"] } },
        { name: "git_status", arguments: {} },
        { name: "git_log", arguments: {} },
      ],
      {
        files: { a: "1\n" },
        prepare: (rig) => {
          initRepository(rig.folder);
          const outside = (text: string): void => {
            writeFileSync(join(rig.folder, "outside"), text);
          };
          outside("secret\n");
          rig.git("add", "../outside", "a");
          rig.git("commit", "-m", "start");
          outside("secret 2\n");
          rig.git("commit", "-am", "secret 3");
          outside("secret 4\n");
          rig.git("add", "../outside");
          outside("secret 5\n");
          rig.write("a", "2\n");
        },
        check: (_rig, { answers }) => {
          assert.match(answers[0] ?? "", /-1\n\+2/);
          assert.match(answers[2] ?? "", /-1\n\+2/);
          assert.match(answers[3] ?? "", /Cannot compare with 'HEAD:outside'/);
          assert.match(answers[5] ?? "", /T: start/);
          for (const [at, answer] of answers.entries()) {
            assert.doesNotMatch(answer.replace("HEAD:outside", ""), /secret|outside/, String(at));
          }
        },
      },
    );
  });

  it("name a file as it is called, in any script", async () => {
    await call(
      [
        { name: "git_diff", arguments: {} },
        { name: "git_status", arguments: {} },
      ],
      {
        files: { "größe.js": "1\n" },
        prepare: (rig) => {
          rig.commitAll();
          rig.write("größe.js", "2\n");
        },
        check: (_rig, { answers }) => {
          assert.match(answers[0] ?? "", /^\+\+\+ b\/größe\.js$/m);
          assert.match(answers[1] ?? "", / M größe\.js/);
        },
      },
    );
  });

  it("say why a commit failed, in git's words or those of a hook", async () => {
    const commit = { name: "git_commit", arguments: { message: "m", paths: ["a"] } };
    for (const [hook, says] of [
      ["echo 'line 3: no semicolons' >&2; exit 1", /'git commit' failed.*line 3: no semicolons/],
      ["echo 'on stdout'; exit 1", /'git commit' failed.*on stdout/],
      ["exit 1", /ended with 1 and gave no reason. A hook .* may have refused it/],
    ] as const) {
      const { answers, turn } = await call([commit], {
        files: { a: "1\n" },
        prepare: (rig) => {
          rig.commitAll();
          rig.write("a", "2\n");
          rig.write(".git/hooks/pre-commit", `#!/bin/sh\n${hook}\n`);
          chmodSync(join(rig.cwd, ".git/hooks/pre-commit"), 0o755);
        },
      });
      assert.deepEqual(turn.ends, ["failed"]);
      assert.match(answers[0] ?? "", says);
    }
  });
});
