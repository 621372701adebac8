import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AcpApp } from "../../test/support/acp-app.ts";
import { ScriptedAgent, ScriptedSession } from "../../test/support/scripted-agent.ts";
import type { AgentOpenOptions, SessionSettings } from "./agent.ts";
import { choose, chooseOption, chosenAfter } from "./settings.ts";
import type { Session } from "./session.ts";

describe("chosenAfter()", () => {
  it("keeps the last choice of a mode, whether it was made as a mode or as an option", () => {
    const options = [{ id: "how", category: "mode" }, { id: "depth" }];
    const asMode = chosenAfter({}, { setting: "mode", id: "ask" }, options);
    const asOption = { setting: "option", id: "how", value: "build" } as const;
    assert.deepEqual(chosenAfter(asMode, asOption, options), { modeId: "build" });
    const deep = chosenAfter(asMode, { setting: "option", id: "depth", value: true }, options);
    assert.deepEqual(deep, { modeId: "ask", configOptions: { depth: true } });
  });
});

/** An agent that has its mode and model as config options alone, as today's agents do. */
class OptionAgent extends ScriptedAgent {
  override async open(options: AgentOpenOptions): Promise<ScriptedSession> {
    return new OptionSession(this, options);
  }
}

class OptionSession extends ScriptedSession {
  readonly chosen: unknown[] = [];
  override readonly setMode = undefined as never;
  override readonly setModel = undefined as never;

  override get settings(): SessionSettings {
    const choices = [{ value: "build", name: "Build" }];
    const more = { name: "More", group: "g", options: [{ value: "ask", name: "Ask" }] };
    return {
      configOptions: [
        { id: "how", category: "mode", type: "select", options: [...choices, more] },
        { id: "llm", category: "model", type: "select", options: [{ value: "m1", name: "M" }] },
        { id: "fast", type: "boolean", currentValue: false },
      ],
    };
  }

  async setConfigOption(id: string, value: unknown): Promise<void> {
    this.chosen.push([id, value]);
  }
}

async function open(app: AcpApp): Promise<Session> {
  return app.sessions.create({ cwd: "/tmp", additionalDirectories: [], mcpServers: [] });
}

describe("the model in the notes of a session", () => {
  it("is the one that the agent had when it was opened, unless one was chosen", async () => {
    await using app = await AcpApp.open();
    const session = await open(app);
    const usual = session.settings.models?.currentModelId;
    assert.ok(usual !== undefined);
    assert.equal(session.notes.model, usual);
    await choose(session, "model", "openai/gpt-4");
    const { model, chosen } = session.notes;
    assert.deepEqual([model, chosen?.modelId], [undefined, "openai/gpt-4"]);
  });
});

describe("choosing a setting", () => {
  it("passes a mode or model on as the option for it, if the agent has no other way", async () => {
    await using app = await AcpApp.open({ agent: new OptionAgent() });
    const session = await open(app);
    await choose(session, "mode", "ask");
    await choose(session, "model", "m1");
    await chooseOption(session, "fast", true);
    const { chosen } = session.agent as OptionSession;
    assert.deepEqual(chosen, [
      ["how", "ask"],
      ["llm", "m1"],
      ["fast", true],
    ]);
    assert.deepEqual(session.notes.chosen, {
      modeId: "ask",
      modelId: "m1",
      configOptions: { fast: true },
    });
  });

  it("treats the option 'mode' as the mode if the agent has no such option", async () => {
    await using app = await AcpApp.open();
    const session = await open(app);
    await chooseOption(session, "mode", "architect");
    await chooseOption(session, "model", "openai/gpt-4");
    assert.equal(session.agent.settings.modes?.currentModeId, "architect");
    assert.equal(session.agent.settings.models?.currentModelId, "openai/gpt-4");
  });

  it("refuses an invalid choice, lists the valid ones, and passes nothing on", async () => {
    await using app = await AcpApp.open({ agent: new OptionAgent() });
    const session = await open(app);
    const refused = (choice: Promise<void>, words: RegExp) =>
      assert.rejects(choice, { code: "usage", message: words });
    await refused(choose(session, "mode", "plan"), /mode to 'plan'.*Available: build, ask\./);
    await refused(chooseOption(session, "how", 7), /'how' to number/);
    await refused(
      chooseOption(session, "fast", "yes"),
      /'fast' to 'yes': it must be true or false/,
    );
    await refused(chooseOption(session, "slow", 1), /no such option\. Available: how, llm, fast\./);
    await refused(choose(session, "model", "x".repeat(1_000)), /to 'x{64}'/);
    assert.deepEqual((session.agent as OptionSession).chosen, []);
    assert.equal(session.notes.chosen, undefined);
  });
});
