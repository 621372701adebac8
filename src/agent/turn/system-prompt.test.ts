import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig, KEY } from "../../../test/agent/agent-rig.ts";
import { FakeLlm, type Scripted } from "../../../test/agent/fake-llm.ts";
import { argumentProblem } from "../../tool/schema/plain-schema.ts";
import type { Tool } from "../../tool/tool.ts";
import { Models } from "../models/models.ts";
import { Log } from "../../base/log.ts";
import { SessionTools } from "../session-tools.ts";
import { gitState } from "./instructions.ts";
import type { Speaker } from "./speaker.ts";

const call = (name: string, args: object): Scripted => ({
  toolCalls: [{ name, arguments: args }],
});

describe("the beginning of a model's requests", () => {
  it("stays the same in a session: other modes, tools and instructions are added after it", async () => {
    await using llm = await FakeLlm.start([
      call("read_file", { path: "sub/a" }),
      { content: "One." },
      call("edit_file", { path: "sub/a", old_string: "a", new_string: "b" }),
      { content: "Two." },
      { content: "Three." },
    ]);
    await using rig = new AgentRig({ llm, files: { "sub/a": "a", "sub/AGENTS.md": "Be nice." } });
    const session = await rig.open();
    await rig.turnOf(session, "go");
    await session.setMode?.("ask");
    const { turn } = await rig.turnOf(session, "look at https://example.org");
    assert.deepEqual(turn.ends, ["failed"], "what the mode does not allow is refused");
    await session.setMode?.("build");
    await rig.turnOf(session, "have a subagent explore");
    const [first, ...others] = llm.requests;
    const namesOf = (request: typeof first) =>
      (request?.tools ?? []).map((each) => JSON.stringify(each));
    for (const [index, request] of others.entries()) {
      const before = llm.requests[index];
      assert.deepEqual(request.messages.slice(0, before?.messages.length), before?.messages);
      assert.deepEqual(namesOf(request).slice(0, namesOf(before).length), namesOf(before));
    }
    const said = JSON.stringify(others.at(-1)?.messages);
    assert.equal(said.split("Be nice.").length, 2, "told once");
    assert.match(said, /mode[^"]*Ask\. You are to answer questions/);
    assert.match(said, /mode[^"]*Build\. You may change files/);
    const last = namesOf(others.at(-1)).join();
    assert.ok(last.includes("web_fetch") && last.includes('"task"'));
  });

  it("says how to verify, when to stop, the state of git and the rules for commits", async () => {
    await using llm = await FakeLlm.start([{ content: "Yes." }]);
    await using rig = new AgentRig({ llm, files: { a: "a\n" } });
    rig.commitAll();
    rig.write("a", "b\n");
    await rig.turn("go");
    const system = String(llm.requests[0]?.messages[0]?.content);
    for (const words of [
      /Verify before you say that it is done/,
      /When to stop:/,
      /Commit only if the person asks/,
      /subagent \(task\)/,
      /Git, when the session began: branch \w+\.\nChanged.*\n {3}M a\nThe last commits:\n {2}\w+ start/,
    ]) {
      assert.match(system, words);
    }
    const cancelled = AbortSignal.abort(new Error("enough"));
    await assert.rejects(gitState(rig.cwd, cancelled), /enough/, "it is asked again next time");
  });
});

describe("the tools of the agent", () => {
  it("each have an example that fits", async () => {
    await using rig = new AgentRig({});
    const log = new Log("debug", () => {});
    const options = { mcpServers: [], cwd: rig.cwd, log, sessionId: "s" };
    await using tools = new SessionTools(options as never, { timeout: 1 });
    const all = await tools.gather({} as Speaker, { principal: {}, prompt: [] } as never);
    for (const tool of all.values()) {
      if (tool.name === "more_tools") continue;
      assert.ok(tool.example, tool.name);
      const problem = await argumentProblem({ definition: tool } as unknown as Tool, tool.example);
      assert.equal(problem, undefined, tool.name);
    }
  });
});

describe("ANTHROPIC_BASE_URL", () => {
  for (const suffix of ["", "/", "/v1", "/v1/"]) {
    it(`works as an address that ends in '${suffix}'`, async () => {
      await using llm = await FakeLlm.start([{ content: "Hello." }]);
      const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: `${llm.url}${suffix}` };
      const find = (name: string) => (env as Record<string, string>)[name];
      const log = new Log("debug", () => {});
      const models = new Models({ find, settings: { local: false }, log, timeout: 2_000 });
      await using rig = new AgentRig({ models });
      const { turn } = await rig.turn("go");
      assert.equal(turn.text, "Hello.");
    });
  }
});
