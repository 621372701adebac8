import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ToolsHome } from "../support/tools-home.ts";

/** What would turn a line around, clear the screen, or not be seen. */
const NASTY = "\u202e\x1b[2J\u200b\x9b8m\u{e0041}";
const SHOWN = String.raw`\u202e\u001b[2J\u200b\u009b8m\udb40\udc41`;
/** Everything but printable characters, and lines. */
const HIDDEN = /[^\P{C}\n\t]/u;

describe("text for a person in a terminal", { timeout: 600_000 }, () => {
  it("hides nothing in other servers' descriptions of their tools", async () => {
    const tools = [
      { name: "plain", title: `Reads${NASTY}`, description: `Line one${NASTY}\nline two` },
    ];
    using home = new ToolsHome({ other: tools }, { policy: { tools: { approve: "always" } } });
    const list = await home.run("tool", "list");
    assert.match(list.out, /^ {2}plain +\(held: new\) Reads\\u202e\\u001b\[2J\\u200b/m);
    const diff = await home.run("tool", "diff");
    assert.ok(diff.out.includes(`+ description: Line one${SHOWN}\n+ line two`), diff.out);
    const json = await home.run("tool", "list", "--json");
    const { held } = JSON.parse(json.out) as { held: { title: string }[] };
    assert.equal(held[0]?.title, `Reads${NASTY}`, "programs get it as it is");
    for (const { out, err } of [list, diff, json]) assert.doesNotMatch(out + err, HIDDEN);
  });

  it("hides nothing in names from a repository", async () => {
    using home = new ToolsHome({});
    const name = `a${NASTY}.txt`;
    const folder = join(home.path, `project${NASTY}`);
    mkdirSync(folder);
    writeFileSync(join(folder, name), "one\n");
    writeFileSync(join(folder, ".trunkline.jsonc"), JSON.stringify({ review: {}, [NASTY]: {} }));
    execFileSync("git", ["init", "-q"], { cwd: folder });
    const trusted = await home.run("config", "trust", folder);
    assert.equal(trusted.code, 0, trusted.err);
    assert.ok(trusted.out.includes(`project${SHOWN}`), trusted.out);
    assert.ok(trusted.out.includes(`It sets: review, ${SHOWN}.`), trusted.out);
    const repo = ["--repo", folder];
    const comment = `look\x1b[8mhere\nfake: \u2066line`;
    const added = await home.run("review", "add", ...repo, "--file", name, "--comment", comment);
    assert.equal(added.code, 0, added.err);
    assert.match(added.out, new RegExp(`^Opened \\S+ on ${RegExp.escape(`a${SHOWN}.txt`)}\\.\n$`));
    const [, id = ""] = /^Opened (\S+)/.exec(added.out) ?? [];
    const list = await home.run("review", "list", ...repo);
    const show = await home.run("review", "show", id, ...repo);
    assert.ok(list.out.includes(`a${SHOWN}.txt`) && list.out.includes(String.raw`look\u001b[8m`));
    assert.ok(show.out.includes(String.raw`fake: \u2066line`));
    for (const { out, err } of [trusted, added, list, show]) {
      assert.doesNotMatch(out + err, HIDDEN);
    }
  });

  it("hides nothing in a value in an error", async () => {
    using home = new ToolsHome({});
    for (const args of [
      ["tool", "call", `x${NASTY}`],
      ["review", "show", `x${NASTY}`],
      ["session", "show", `x${NASTY}`],
      [`x${NASTY}`],
    ]) {
      const { code, err } = await home.run(...args);
      assert.notEqual(code, 0);
      assert.ok(err.includes(`x${SHOWN}`), err);
      assert.doesNotMatch(err, HIDDEN);
    }
  });
});
