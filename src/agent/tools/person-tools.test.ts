import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { call, read } from "../../../test/agent/call-tools.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";

const ask = (options?: string[]) => {
  const question = "Which one?";
  return { name: "ask_person", arguments: { question, ...(options ? { options } : {}) } };
};

describe("ask_person", () => {
  it("shows a form where the client has them", async () => {
    const forms: Record<string, unknown>[] = [];
    const elicit = async (params: object) => {
      forms.push(params as Record<string, unknown>);
      const content = forms.length === 1 ? { answer: "B" } : { answer: "C", other: "neither" };
      return forms.length === 3 ? { action: "cancel" } : { action: "accept", content };
    };
    const { answers, turn } = await call([ask(["A", "B"]), ask(["\u202eA"]), ask()], {
      turn: { client: { elicit } },
    });
    assert.match(answers[0] ?? "", /answers: B$/);
    assert.match(answers[1] ?? "", /answers: neither$/);
    assert.match(answers[2] ?? "", /did not answer/);
    assert.equal(turn.asked.length, 0);
    assert.match(JSON.stringify(forms[1]), /"enum":\["\\\\u202eA"\]/);
    assert.match(JSON.stringify(forms[0]), /"message":"Which one\?".*"enum":\["A","B"\]/);
  });

  it("else asks by the options of a permission request, which --yes does not answer", async () => {
    const { answers, turn } = await call([ask(["A", "B"]), ask(["A"]), ask()], {
      turn: {
        decide: ({ options }) => {
          const { optionId = "", kind = "reject_once" } = options[1] ?? {};
          return { outcome: "selected", optionId, kind };
        },
      },
    });
    assert.match(answers[0] ?? "", /answers: B$/);
    assert.match(answers[1] ?? "", /did not answer/);
    assert.match(answers[2] ?? "", /End your turn with the question in plain text/);
    assert.deepEqual(turn.asked[0]?._meta, { trunkline: { needsPerson: true } });
  });
});

const PLAN = { name: "submit_plan", arguments: { plan: "1. Write a." } };
const WRITE = { name: "write_file", arguments: { path: "a", content: "x" } };

/** A plan, and what the model does after the person's answer. */
async function planned(answer: number | ((params: object) => Promise<unknown>)): Promise<{
  rig: AgentRig;
  said: string;
  asked: number;
  tools: readonly string[];
  ends: unknown[];
}> {
  await using llm = await FakeLlm.start([
    { toolCalls: [PLAN] },
    { toolCalls: [WRITE] },
    { content: "Done." },
  ]);
  await using rig = new AgentRig({ llm });
  const session = await rig.open();
  await session.setMode?.("architect");
  const { turn } = await rig.turnOf(session, {
    prompt: "plan it",
    ...(typeof answer === "function" ? { client: { elicit: answer } } : {}),
    decide: ({ options }) => {
      const at = typeof answer === "number" && options.length === 3 ? answer : 0;
      const { optionId = "", kind = "allow_once" } = options[at] ?? {};
      return { outcome: "selected", optionId, kind };
    },
  });
  const said = JSON.stringify(llm.requests.at(-1)?.messages);
  return { rig, said, asked: turn.asked.length, tools: llm.tools, ends: turn.ends };
}

describe("a plan of the mode architect", () => {
  it("is approved, and then built in the mode that the person chooses", async () => {
    const auto = await planned(0);
    assert.deepEqual(auto.ends, ["completed", "completed"]);
    assert.equal(auto.asked, 1, "only about the plan");
    assert.ok(auto.tools.includes("write_file"));
    assert.match(auto.said, /approved the plan.*mode.*Auto-accept/);
    const updates = auto.rig.updates.filter((each) => each.sessionUpdate === "current_mode_update");
    assert.deepEqual(
      updates.map(({ currentModeId }) => currentModeId),
      ["architect", "auto-accept"],
    );
    const build = await planned(1);
    assert.equal(build.asked, 2, "also about the file");
  });

  it("is not built if the person refuses it", async () => {
    const { ends, said } = await planned(2);
    assert.deepEqual(ends, ["completed", "failed"]);
    assert.match(said, /did not approve the plan/);
  });

  it("can be edited in a form", async () => {
    const { said, ends } = await planned(async (params) => {
      const { requestedSchema } = params as {
        requestedSchema: { properties: Record<string, { enum?: string[] }> };
      };
      const [decision] = requestedSchema.properties.decision?.enum ?? [];
      return { action: "accept", content: { decision, plan: "1. Write a, and b." } };
    });
    assert.match(said, /They have changed it; this counts:\\n\\n1\. Write a, and b\./);
    assert.deepEqual(ends, ["completed", "completed"]);
    const closed = await planned(async () => ({ action: "cancel" }));
    assert.deepEqual(closed.ends, ["completed", "failed"]);
  });
});

describe("read_file of an image", () => {
  it("shows it to the model, whatever the name of other content says", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    await using llm = await FakeLlm.start([
      { toolCalls: [read("shot.png"), read("text.png")] },
      { content: "A dot." },
    ]);
    await using rig = new AgentRig({ llm, files: { "text.png": "only text\n" } });
    writeFileSync(join(rig.cwd, "shot.png"), png);
    const { turn } = await rig.turn("what is on it?");
    assert.deepEqual(turn.ends, ["completed", "completed"]);
    const seen = JSON.stringify(llm.requests[1]);
    assert.ok(seen.includes(png.toString("base64")), seen.slice(-2_000));
    assert.match(seen, /only text/);
  });
});
