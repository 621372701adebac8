import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { customRoots, findSkills, skillsText } from "./custom-commands.ts";

const skill = (description: string, body = "Body."): string => {
  return `---\nname: x\ndescription: ${description}\n---\n${body}`;
};

describe("findSkills()", () => {
  it("takes folders with a SKILL.md that says what it is for; the project's first", async () => {
    await using rig = new AgentRig({
      files: {
        ".agents/skills/pdf/SKILL.md": skill("Work with PDF"),
        ".claude/skills/docs/api/SKILL.md": skill("Use when: writing docs"),
        ".claude/skills/mute/SKILL.md": "No front matter.",
        ".claude/skills/Bad Name/SKILL.md": skill("x"),
        "user/skills/pdf/SKILL.md": skill("Of the user"),
        "user/skills/own/SKILL.md": skill("Mine"),
      },
    });
    const found = await findSkills(customRoots(rig.cwd, [join(rig.cwd, "user")]));
    assert.deepEqual(
      found.map(({ name, description }) => `${name}: ${description}`),
      ["pdf: Work with PDF", "api: Use when: writing docs", "own: Mine"],
    );
    assert.match(skillsText(found), /Skills.*\n- pdf: Work with PDF\n- api/);
  });
});

describe("a skill", () => {
  it("is offered by name, and loaded with its files when the model asks for it", async () => {
    const load = (file?: string) => ({
      name: "load_skill",
      arguments: { name: "pdf", ...(file === undefined ? {} : { file }) },
    });
    await using llm = await FakeLlm.start([
      { toolCalls: [load(), load("more/form.md"), load("../../../a.txt"), load("leak.md")] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({
      llm,
      files: {
        "a.txt": "outside of the skill",
        ".agents/skills/pdf/SKILL.md": skill("Work with PDF", "Use qpdf."),
        ".agents/skills/pdf/more/form.md": "Forms need care.",
      },
    });
    writeFileSync(join(rig.folder, "secret"), "hidden treasure");
    symlinkSync(join(rig.folder, "secret"), join(rig.cwd, ".agents/skills/pdf/leak.md"));
    const { turn } = await rig.turn("go");
    assert.match(llm.seen(0), /- pdf: Work with PDF/);
    assert.doesNotMatch(llm.seen(0), /Use qpdf/);
    assert.deepEqual(turn.ends, ["completed", "completed", "failed", "failed"]);
    assert.match(llm.seen(1), /Use qpdf\.\s.*Files of this skill: .*more\/form\.md/s);
    assert.match(llm.seen(1), /Forms need care/);
    assert.doesNotMatch(llm.seen(1), /outside of the skill|hidden treasure/);
  });

  it("costs nothing where there is none", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using rig = new AgentRig({ llm });
    await rig.turn("go");
    assert.ok(!llm.tools.includes("load_skill"));
    assert.doesNotMatch(llm.seen(), /Skills:/);
  });
});
