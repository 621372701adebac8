import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Log } from "../base/log.ts";
import type { HistoryEntry } from "../session/agent.ts";
import { Offer } from "../tool/offer/offer.ts";
import { errorResult, type Question, textResult } from "../tool/tool.ts";
import { Announcement } from "../tool/offer/registry.ts";
import { type ModelEntry, Models, type ModelSource, OFFLINE } from "./models/models.ts";
import { openModel } from "./models/provider.ts";
import { AgentRig } from "../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../test/agent/fake-llm.ts";
import { REJECT, type SampleTurn } from "../../test/agent/sample-turn.ts";

async function* entries(list: readonly HistoryEntry[]): AsyncGenerator<readonly HistoryEntry[]> {
  yield list;
}

/** A turn as it was stored. */
function stored(turn: SampleTurn): HistoryEntry[] {
  return [
    { kind: "prompt", turnId: turn.id, prompt: turn.prompt },
    ...turn.updates.map((update) => ({ kind: "update" as const, turnId: turn.id, update })),
    { kind: "end", turnId: turn.id, stopReason: "end_turn" },
  ];
}

describe("a session's settings", () => {
  it("are sent in the current form and in the older one", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using rig = new AgentRig({ llm });
    const { modes, models, configOptions } = (await rig.open()).settings;
    assert.deepEqual(
      modes?.availableModes.map(({ id }) => id),
      ["build", "auto-accept", "architect", "ask"],
    );
    assert.equal(models?.availableModels.at(-1)?.name, "Offline (no LLM)");
    assert.deepEqual(
      configOptions?.map(({ id, currentValue }) => [id, currentValue]),
      [
        ["mode", "build"],
        ["model", models?.currentModelId],
      ],
    );
  });

  it("can be changed, and all clients are told", async () => {
    await using rig = new AgentRig();
    const session = await rig.open();
    await session.setMode?.("ask");
    await session.setConfigOption?.("model", "offline");
    assert.equal(session.settings.modes?.currentModeId, "ask");
    const kinds = rig.updates.map(({ sessionUpdate }) => sessionUpdate);
    assert.ok(kinds.includes("current_mode_update"));
    assert.ok(kinds.includes("config_option_update"));
    await assert.rejects(
      session.setMode?.("wild") ?? Promise.resolve(),
      /There are: build, auto-accept, architect, ask/,
    );
    await assert.rejects(session.setModel?.("gpt-9") ?? Promise.resolve(), /There are: offline/);
    await assert.rejects(
      session.setConfigOption?.("colour", 1) ?? Promise.resolve(),
      /no option 'colour'/,
    );
  });

  it("are restored when the session is loaded; a model that no longer exists is reported", async () => {
    await using rig = new AgentRig();
    const session = await rig.open({ chosen: { modeId: "architect", modelId: "openai/gone" } });
    assert.equal(session.settings.modes?.currentModeId, "architect");
    const { turn } = await rig.turnOf(session, "hi");
    assert.match(turn.notices, /'openai\/gone' is not available; Offline/);
  });
});

describe("a model whose provider answers slowly", () => {
  it("is waited for by the first prompt, not by session/new", async () => {
    for (const chosen of [{}, { modelId: "slow/late" }]) {
      await using llm = await FakeLlm.start([{ content: "Here I am." }]);
      const models = new SlowModels();
      await using rig = new AgentRig({ models, limits: { firstList: 1 } });
      const session = await rig.open({ chosen });
      assert.equal(session.settings.models?.currentModelId, "offline");
      const { turn } = await rig.turnOf(session, "/help");
      assert.match(turn.text, /\/search/, "commands need none");
      const answer = rig.turnOf(session, "go");
      models.arrive(`${llm.url}/v1`);
      assert.equal((await answer).turn.text, "Here I am.");
      assert.equal(session.settings.models?.currentModelId, "slow/late");
      assert.equal((await answer).turn.notices, "");
    }
  });
});

describe("a model whose provider cannot be reached", () => {
  it("is reported with the provider's name and the reason, not as a missing model", async () => {
    const find = (name: string) =>
      name === "OPENAI_BASE_URL" ? "http://127.0.0.1:1/v1" : undefined;
    const log = new Log("error", () => {});
    const models = new Models({ find, settings: { local: false }, log });
    await using rig = new AgentRig({ models });
    const session = await rig.open();
    for (const prompt of ["hello", "/help"]) {
      const { turn } = await rig.turnOf(session, prompt);
      assert.match(turn.text, /The provider openai failed: .+\. Check its address and its key/);
      assert.doesNotMatch(turn.text, /To have one/);
    }
  });
});

/** Lists its one model when it is told to. */
class SlowModels implements ModelSource {
  readonly failures = new Map<string, string>();
  readonly #changes = new Announcement();
  readonly #arrived = Promise.withResolvers<void>();
  #entries: readonly ModelEntry[] = [OFFLINE];

  arrive(baseUrl: string): void {
    const provider = { id: "slow", name: "Slow", type: "openai-compatible", baseUrl } as const;
    const open = () => openModel(provider, "late");
    const late = { id: "slow/late", name: "Late", description: "", contextWindow: 9_000, open };
    this.#entries = [late, OFFLINE];
    this.#changes.make();
    this.#arrived.resolve();
  }

  list(): readonly ModelEntry[] {
    return this.#entries;
  }

  first(): ModelEntry {
    return this.#entries[0] ?? OFFLINE;
  }

  refresh(): Promise<void> {
    return this.#arrived.promise;
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }
}

describe("the thinking level", () => {
  it("is offered for models that take one, and sent to them", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using rig = new AgentRig({ llm, type: "openai-compatible", model: "gpt-oss-20b" });
    const session = await rig.open();
    const option = () => session.settings.configOptions?.find(({ id }) => id === "thinking");
    assert.deepEqual([option()?.category, option()?.currentValue], ["thought_level", "default"]);
    await rig.turnOf(session, "go");
    await session.setConfigOption?.("thinking", "high");
    assert.equal(option()?.currentValue, "high");
    await rig.turnOf(session, "go on");
    const [first, second] = llm.requests as { reasoning_effort?: string }[];
    assert.deepEqual([first?.reasoning_effort, second?.reasoning_effort], [undefined, "high"]);
    await assert.rejects(session.setConfigOption?.("thinking", "wild") ?? Promise.resolve());
    await session.setModel?.("offline");
    assert.equal(option(), undefined);
    const loaded = await rig.open({ chosen: { configOptions: { thinking: "low" } } });
    const { configOptions } = loaded.settings;
    assert.equal(configOptions?.find(({ id }) => id === "thinking")?.currentValue, "low");
  });
});

describe("a mode", () => {
  it("refuses tools that it does not allow, even if the model calls them without being offered them", async () => {
    const call = { name: "write_file", arguments: { path: "a", content: "x" } };
    const run = { name: "run_command", arguments: { command: "true" } };
    await using llm = await FakeLlm.start([{ toolCalls: [call, run] }, { content: "No." }]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    await session.setMode?.("ask");
    const { turn } = await rig.turnOf(session, "go");
    assert.deepEqual(turn.ends, ["failed", "failed"]);
    assert.equal(turn.asked.length, 0);
    assert.ok(llm.tools.includes("read_file"));
    assert.ok(!llm.tools.includes("write_file") && !llm.tools.includes("run_command"));
    await session.setMode?.("architect");
    await rig.turnOf(session, "plan");
    assert.ok(llm.tools.includes("run_command") && !llm.tools.includes("edit_file"));
  });

  it("auto-accept: changes files without a question, but asks before commands and about files that tools run", async () => {
    const write = (path: string) => ({ name: "write_file", arguments: { path, content: "x" } });
    const run = { name: "run_command", arguments: { command: "true" } };
    const toolCalls = [write("src/a"), run, write(".vscode/tasks.json"), write("link")];
    await using llm = await FakeLlm.start([{ toolCalls }, { content: "Done." }]);
    await using rig = new AgentRig({ llm, files: { ".envrc": "old" } });
    symlinkSync(".envrc", join(rig.cwd, "link"));
    const session = await rig.open();
    await session.setMode?.("auto-accept");
    const { turn } = await rig.turnOf(session, { prompt: "go", decide: () => REJECT });
    assert.deepEqual(turn.ends, ["completed", "failed", "failed", "failed"]);
    assert.deepEqual(
      turn.accepted.map(({ toolCall, acceptedBy }) => [toolCall.title, acceptedBy]),
      [["Create src/a", "mode auto-accept"]],
    );
    assert.equal(rig.read("src/a"), "x");
    assert.equal(rig.read(".envrc"), "old");
  });

  it("applies to slash commands too", async () => {
    await using rig = new AgentRig({ files: { "a.txt": "a" } });
    rig.commitAll();
    rig.write("a.txt", "b");
    const session = await rig.open();
    await session.setMode?.("ask");
    const { turn } = await rig.turnOf(session, "/commit no");
    assert.match(turn.text, /cannot be used in the mode 'Ask'/);
    assert.match(rig.git("status", "--short"), /M a.txt/);
  });
});

describe("a loaded session", () => {
  it("gives the model the earlier messages and tool calls", async () => {
    await using llm = await FakeLlm.start([
      { content: "Reading.", toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] },
      { content: "It says one." },
      { content: "As I said." },
    ]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "one\n" } });
    const { turn } = await rig.turn("read it");
    const history = entries(stored(turn));
    const session = await rig.open({ history });
    await rig.turnOf(session, "and?");
    const seen = llm.seen(2);
    assert.match(seen, /user: .*read it/);
    assert.match(seen, /assistant: .*Reading.*read_file/s);
    assert.match(seen, /tool: {5}1\tone/);
    assert.match(seen, /assistant: .*It says one\./);
    assert.match(seen, /user: .*and\?/);
  });
});

describe("tools of other servers", () => {
  it("are offered to the model, and need permission unless they are harmless", async () => {
    const offer = new Offer();
    const schema = { inputSchema: { type: "object" } };
    offer.tools.add({
      definition: { name: "look.around", ...schema, annotations: { readOnlyHint: true } },
      call: () => textResult("I see a cave."),
    });
    offer.tools.add({ definition: { name: "dig", ...schema }, call: () => errorResult("Rock!") });
    await using llm = await FakeLlm.start([
      {
        toolCalls: [
          { name: "look_around", arguments: {} },
          { name: "dig", arguments: {} },
        ],
      },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, offer: async () => offer });
    const { turn } = await rig.turn("go");
    assert.deepEqual(turn.ends, ["completed", "failed"]);
    assert.deepEqual(
      turn.asked.map(({ subject }) => subject),
      [{ action: "call", tool: "dig" }],
    );
    assert.match(llm.seen(1), /I see a cave\./);
    assert.match(llm.seen(1), /Rock!/);
    const { turn: refused } = await rig.turn({ prompt: "again", decide: () => REJECT });
    assert.equal(refused.text, "Done.");
  });

  it("get answers to their questions if the client supports that, and otherwise an error", async () => {
    const offer = new Offer();
    const inputSchema = { type: "object" };
    const question = (properties: object): Question => ({
      method: "elicitation/create",
      params: { message: "Which cave?", requestedSchema: { type: "object", properties } },
    });
    const asks = (name: string, properties: object): void => {
      offer.tools.add({
        definition: { name, inputSchema, annotations: { readOnlyHint: true } },
        call: async (_, context) =>
          textResult(JSON.stringify(await context.ask(question(properties)))),
      });
    };
    asks("consent", {});
    asks("form", { cave: { type: "string" } });
    const toolCalls = ["consent", "form"].map((name) => ({ name, arguments: {} }));
    await using llm = await FakeLlm.start([{ toolCalls }, { content: "Done." }]);
    await using rig = new AgentRig({ llm, offer: async () => offer });
    const plain = await rig.turn("go");
    assert.deepEqual(plain.turn.ends, ["completed", "failed"]);
    assert.equal(plain.turn.asked[0]?.toolCall.title, "Which cave?");
    assert.match(llm.seen(1), /tool: .*"accept"/);
    await using more = await FakeLlm.start([{ toolCalls }, { content: "Done." }]);
    await using able = new AgentRig({ llm: more, offer: async () => offer });
    const elicit = async (): Promise<object> => ({ action: "accept", content: { cave: "left" } });
    const { turn } = await able.turn({ prompt: "go", client: { elicit } });
    assert.deepEqual(turn.ends, ["completed", "completed"]);
    assert.match(more.seen(1), /"cave":\s*\\?"left/);
  });

  it("of a dead server cause no delay, and the server is reported", async () => {
    const offer = new Offer();
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    const openServers = async (): Promise<never> =>
      ({
        tools: offer.tools,
        known: () => new Promise<void>(() => {}),
        status: () => [{ name: "dead", isKnown: false, lastError: "no such program" }],
        [Symbol.asyncDispose]: async () => {},
      }) as never;
    await using rig = new AgentRig({ llm, openServers, limits: { firstList: 20 } });
    const session = await rig.open({ mcpServers: [{ name: "dead", command: "nope" }] });
    const { turn } = await rig.turnOf(session, "hi");
    assert.equal(turn.text, "Hi.");
    assert.match(turn.notices, /'dead' is not there.*no such program/);
    const { turn: next } = await rig.turnOf(session, "hi again");
    assert.equal(next.notices, "", "once is enough");
  });
});

describe("an editor that supports it", () => {
  it("is asked for files, so unsaved text is used", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] },
      {
        toolCalls: [
          {
            name: "edit_file",
            arguments: { path: "a.txt", old_string: "buffer", new_string: "new" },
          },
        ],
      },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "on disk\n" } });
    let buffer = "in the buffer\n";
    const fs = {
      readTextFile: async () => buffer,
      writeTextFile: async (path: string, text: string) => {
        assert.equal(path, `${rig.cwd}/a.txt`);
        buffer = text;
      },
    };
    await rig.turn({ prompt: "go", client: { fs } });
    assert.match(llm.seen(1), /in the buffer/);
    assert.equal(buffer, "in the new\n");
    assert.equal(rig.read("a.txt"), "on disk\n");
  });

  it("runs commands in its terminal, which is released at the end", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "run_command", arguments: { command: "make world" } }] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm });
    const calls: string[] = [];
    const terminal = {
      create: async (options: { command: string; args?: readonly string[] }) => {
        calls.push([options.command, ...(options.args ?? [])].join(" "));
        return {
          terminalId: "t1",
          output: async () => ({ output: "made it\n", truncated: false }),
          waitForExit: async () => ({ exitCode: 0 }),
          kill: async () => void calls.push("kill"),
          release: async () => void calls.push("release"),
        };
      },
    };
    const { turn } = await rig.turn({ prompt: "go", client: { terminal } });
    assert.deepEqual(calls, ["sh -c make world", "release"]);
    assert.match(llm.seen(1), /made it\n\(exit code 0\)/);
    assert.ok(turn.updates.some(({ content }) => JSON.stringify(content ?? "").includes('"t1"')));
  });
});

describe("notices about the work", () => {
  it("are sent as text to clients that show no notices, and are hidden from the model", async () => {
    await using llm = await FakeLlm.start([
      { error: { message: "Oops" }, status: 500 },
      { content: "Fine." },
      { content: "Still fine." },
    ]);
    await using rig = new AgentRig({ llm });
    const { turn } = await rig.turn({ prompt: "go", client: { notices: false } });
    assert.match(turn.text, /_.*status 500.*Trying again.*_\n\nFine\./s);
    const session = await rig.open({ history: entries(stored(turn)) });
    await rig.turnOf(session, "and?");
    assert.doesNotMatch(llm.seen(2), /Trying again/);
    assert.match(llm.seen(2), /Fine\./);
  });
});
