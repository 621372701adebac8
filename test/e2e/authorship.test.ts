import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AcpEditor, Place } from "../support/acp-editor.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const CONFIG = { agent: "other", agents: { other: { command: process.execPath, args: [AGENT] } } };

describe("who wrote a line", { timeout: 600_000 }, () => {
  it("is told for every agent, with its prompt, by why, blame and stats", async () => {
    using place = new Place();
    const env = { HOME: place.home, GIT_CONFIG_NOSYSTEM: "1" };
    const git = (...args: string[]): string =>
      execFileSync("git", args, {
        cwd: place.folder,
        env: { ...env, PATH: process.env.PATH },
        encoding: "utf8",
      });
    const run = async (...args: string[]): Promise<{ code: unknown; out: string; err: string }> => {
      const where = ["--config", join(place.path, "config.jsonc")];
      await using program = new Program([...args, ...where], { env, cwd: place.folder });
      program.child.stdin.end();
      const code = await program.exit;
      return { code, out: program.lines.join("\n"), err: program.stderr };
    };
    git("init", "--quiet");
    git("config", "user.name", "Ada");
    git("config", "user.email", "ada@example.org");
    writeFileSync(join(place.folder, "a.txt"), "first line of the person\n");
    git("add", ".");
    git("commit", "--quiet", "--message", "First");
    let sessionId = "";
    {
      await using editor = new AcpEditor(place, { config: CONFIG, env });
      sessionId = await editor.begin();
      await editor.prompt(sessionId, "put a.txt|second line of the agent|0");
    }
    const { out: text } = await run("why", "a.txt:1");
    assert.match(text, /^line +second line of the agent\nwritten by +other/);
    assert.match(text, /\nprompt +put a\.txt\|second line/);
    assert.match(text, /\nreplaced +first line of the person/);
    assert.match(text, /\ncommitted +not yet\ncertain +yes/);
    git("commit", "--quiet", "--all", "--message", "Second");
    const { out, err } = await run("why", "a.txt:1", "--json");
    assert.equal(err, "");
    const { prompt, turn, call, ...rest } = JSON.parse(out);
    assert.equal(prompt, "put a.txt|second line of the agent|0");
    assert.ok(turn && call);
    const commit = git("rev-parse", "HEAD").trim();
    assert.partialDeepStrictEqual(rest, {
      session: sessionId,
      agent: "other",
      commit,
      certain: true,
    });
    assert.match((await run("blame", "a.txt")).out, /^\w{8} +other +1 +second line of the agent/);
    assert.match((await run("stats")).out, /\n1 +other\n0 +people/);
    const wrong = await run("why", "a.txt");
    assert.deepEqual([wrong.code, wrong.out], [2, ""]);
    assert.match(wrong.err, /FILE:LINE, not 'a\.txt'/);
    const missing = await run("why", "a.txt:9");
    assert.equal(missing.code, 1);
    assert.match(missing.err, /'a\.txt' is no file of the repository with a line 9/);
  });
});
