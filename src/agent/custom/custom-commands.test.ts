import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { customRoots, findCommands, LARGEST, withArguments } from "./custom-commands.ts";

const NONE: ReadonlySet<string> = new Set();

describe("withArguments()", () => {
  it("puts in all arguments or single ones, and replaces nothing in what it put in", () => {
    assert.equal(withArguments("Fix $ARGUMENTS.", "12 now"), "Fix 12 now.");
    assert.equal(withArguments("$1 to $2, $3", `"a b" 'c d'`), "a b to c d, ");
    assert.equal(withArguments("Fix $1", "$ARGUMENTS"), "Fix $ARGUMENTS");
    assert.equal(withArguments("Costs $100 and $1", "x"), "Costs $100 and x");
  });

  it("adds arguments at the end of a text without a place for them", () => {
    assert.equal(withArguments("Fix it.", "12"), "Fix it.\n\nArguments: 12");
    assert.equal(withArguments("Fix it.", ""), "Fix it.");
  });
});

describe("findCommands()", () => {
  it("reads Markdown files of the project and the user, with the project's first", async () => {
    await using rig = new AgentRig({
      files: {
        ".claude/commands/git/fix.md":
          "---\ndescription: Fix: an issue\nargument-hint: NUMBER\nallowed-tools: Bash\n---\nFix $1.",
        ".trunkline/commands/ship.md": "# Ship it\n\nDo.",
        "user/commands/ship.md": "of the user",
        "user/commands/own.md": "Mine",
        ".claude/commands/commit.md": "not over ours",
        ".claude/commands/no name.md": "x",
      },
    });
    const roots = customRoots(rig.cwd, [join(rig.cwd, "user")]);
    const found = await findCommands(roots, new Set(["commit"]));
    assert.deepEqual(
      found.map(({ name, description, hint }) => [name, description, hint]),
      [
        ["ship", "Ship it (project)", undefined],
        ["git:fix", "Fix: an issue (project)", "NUMBER"],
        ["own", "Mine (user)", undefined],
      ],
    );
  });

  it("follows no link out of the project, and skips what is too large or no text", async () => {
    await using rig = new AgentRig({ files: { ".claude/commands/ok.md": "fine" } });
    const folder = join(rig.cwd, ".claude/commands");
    writeFileSync(join(rig.folder, "secret.md"), "secret");
    symlinkSync(join(rig.folder, "secret.md"), join(folder, "leak.md"));
    symlinkSync(rig.folder, join(folder, "out"));
    symlinkSync("..", join(folder, "loop"));
    writeFileSync(join(folder, "large.md"), "x".repeat(LARGEST + 1));
    writeFileSync(join(folder, "binary.md"), Buffer.from([0xff, 0xfe, 0]));
    const found = await findCommands(customRoots(rig.cwd, []), NONE);
    assert.ok(found.every(({ name }) => !/leak|out|large|binary/.test(name)));
    assert.ok(found.some(({ name }) => name === "ok"));
    // The same link in the user's own folder is the user's decision.
    const own = await findCommands([{ origin: "user", folder: join(rig.cwd, ".claude") }], NONE);
    assert.ok(own.some(({ name }) => name === "leak"));
  });
});

describe("a command of the project", () => {
  it("is listed, and its text with the arguments is the prompt", async () => {
    await using llm = await FakeLlm.start([{ content: "Done." }]);
    const text = "Fix issue $1 with !`touch ran` care.";
    await using rig = new AgentRig({ llm, files: { ".claude/commands/fix.md": text } });
    const session = await rig.open();
    const { turn } = await rig.turnOf(session, "/fix 12");
    assert.equal(turn.text, "Done.");
    assert.match(llm.seen(), /user: .*Fix issue 12 with !`touch ran` care\./);
    assert.throws(() => rig.read("ran"), /ENOENT/);
    const listed = rig.updates.findLast((each) => each.availableCommands !== undefined);
    assert.match(JSON.stringify(listed), /"name":"fix".*\(project\)/);
    assert.match((await rig.turnOf(session, "/help")).turn.text, /`\/fix …`/);
  });
});
