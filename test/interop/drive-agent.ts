import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";

import { Oracle } from "../acp/oracle.ts";
import { FakeLlm, type Scripted, toolsOf, wordsOf } from "../agent/fake-llm.ts";
import { AcpEditor, Place } from "../support/acp-editor.ts";
import type { Json } from "../support/acp-app.ts";
import { runningAt } from "../support/running-at.ts";
import { OwnProgram } from "./own-program.ts";
import { isTurn, LONG, to, toCall } from "./fake-prompts.ts";
import { notHere, type OtherAgent } from "./other-agents.ts";

const ECHO_SERVER = join(import.meta.dirname, "../support/echo-server.mjs");
/** opencode takes half a minute to start where the machine is busy. */
const PATIENT = Object.fromEntries(
  ["initialize", "session/new", "session/load"].map((name) => [name, { timeout: 240_000 }]),
);
/** The data folder of a Trunkline beside which other programs run. */
const SHARED = "meanwhile";
const GREETING = "Good morning from the model, in quite a few pieces.";

function script(agent: OtherAgent): Scripted[] {
  const writes = (content: string, then: string): Scripted[] =>
    toCall(content, { toolCalls: [agent.write("new.txt", content)] }, then);
  return [
    to("greet me", { content: GREETING }),
    ...writes("allowed text", "It is written."),
    ...writes("more text", "So is that."),
    ...writes("refused text", "Then not."),
    ...toCall("run a command", { toolCalls: [agent.run("echo ran > ran.txt")] }, "It has run."),
    // Ahead of the next: goose puts prompts into one where nothing was said in between.
    to("what did I say", { content: "You said much." }),
    to("go on for long", LONG),
    { content: "A title", when: () => true },
  ];
}

/** The whole of an editor's conversation with somebody else's agent behind Trunkline. */
class Conversation implements AsyncDisposable {
  readonly asked: Json[] = [];
  readonly written: Json[] = [];
  /** The kind of option that the person behind the editor chooses. */
  choice = "allow_once";
  readonly editor: AcpEditor;

  constructor(
    place: Place,
    agent: OtherAgent,
    command: string,
    llm: FakeLlm,
    args: readonly string[] = [],
  ) {
    const entry = agent.entry(command, llm.url);
    this.editor = new AcpEditor(place, {
      args,
      isShared: args.some((arg) => arg.endsWith(SHARED)),
      config: {
        agent: agent.name,
        agents: { [agent.name]: { ...entry, env: { ...entry.env, ...agent.allTools } } },
        limits: { messages: PATIENT },
      },
      capabilities: { fs: { readTextFile: true, writeTextFile: true } },
      answers: {
        "session/request_permission": (params) => {
          this.asked.push(params);
          const { optionId } = params.options.find(({ kind }: Json) => kind === this.choice);
          return { outcome: { outcome: "selected", optionId } };
        },
        "fs/read_text_file": ({ path }) => ({ content: readFileSync(path as string, "utf8") }),
        "fs/write_text_file": (params) => {
          this.written.push(params);
          writeFileSync(params.path as string, params.content as string);
          return {};
        },
      },
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.editor[Symbol.asyncDispose]();
  }
}

/** A session of the agent that Trunkline has not begun, as it lists it. */
async function foreign(editor: AcpEditor, { name }: OtherAgent, theirs: string): Promise<Json> {
  const _meta = { trunkline: { agents: [name] } };
  // It may need longer to start than a list waits for it.
  for (let count = 0; count < 5; count++) {
    const listed = await editor.ask("session/list", { cwd: editor.place.folder, _meta });
    const isIt = ({ _meta: about }: Json) => about.trunkline.agentSessionId === theirs;
    const found = listed.sessions.find(isIt);
    if (found === undefined) continue;
    assert.deepEqual(found._meta.trunkline, {
      origin: "agent",
      agent: name,
      agentSessionId: theirs,
    });
    return found;
  }
  assert.fail(`${name} does not list ${theirs}`);
}

/** What requests call a model of an agent. */
function calledBy({ called }: OtherAgent, model: string): string | undefined {
  return called?.[model] ?? model.split("/").at(-1);
}

/** What every agent behind Trunkline is to be good for. */
export function drives(agent: OtherAgent): void {
  describe(`${agent.name} behind Trunkline`, () => {
    let command: string | undefined;
    before(async () => {
      command = await agent.install();
    });

    /** Kills it, and waits until Trunkline has seen that. */
    const kill = async ({ place, program }: AcpEditor): Promise<void> => {
      const known = program.stderr.length;
      const victims = runningAt(place.home).filter((one) => one.command.includes(command ?? ""));
      assert.ok(victims.length > 0, "nobody was killed");
      for (const { pid } of victims) process.kill(pid, "SIGKILL");
      await program.until(({ stderr }) => stderr.slice(known).includes("agent.ended"));
    };

    /** Runs with a model and a place of its own, where the agent can run at all. */
    const test = (
      name: string,
      work: (
        open: (...args: string[]) => Conversation,
        llm: FakeLlm,
        place: Place,
      ) => Promise<void>,
    ): void => {
      it(name, async (t: TestContext) => {
        const program = command;
        if (program === undefined) {
          t.skip(notHere(agent));
          return;
        }
        await using llm = await FakeLlm.start(script(agent));
        using place = new Place();
        const open = (...args: string[]) => new Conversation(place, agent, program, llm, args);
        await work(open, llm, place);
      });
    };

    test("lists a session that another program began with it, which becomes ours", async (open, _llm, place) => {
      // With another data folder, Trunkline is another program: the session is only in the agent's store.
      {
        await using conversation = open("--data", join(place.home, "before"));
        await conversation.editor.prompt(await conversation.editor.begin(), "greet me");
      }
      await using conversation = open();
      const { editor } = conversation;
      await editor.hello();
      const _meta = { trunkline: { agents: [agent.name] } };
      const list = () => editor.ask("session/list", { cwd: place.folder, _meta });
      // It may need longer to start than a list waits for it.
      let listed = await list();
      for (let count = 0; listed.sessions.length === 0 && count < 5; count++) listed = await list();
      assert.equal(listed.sessions.length, 1, JSON.stringify(listed));
      const [{ sessionId, _meta: about }] = listed.sessions;
      assert.deepEqual([about.trunkline.origin, about.trunkline.agent], ["agent", agent.name]);
      await editor.ask("session/load", { sessionId, cwd: place.folder, mcpServers: [] });
      assert.equal(editor.text(), GREETING);
      const since = editor.messages.length;
      await editor.prompt(sessionId, "what did I say");
      assert.equal(editor.text(since), "You said much.");
      assert.deepEqual(
        (await list()).sessions.map((one: Json) => one.sessionId),
        [sessionId],
      );
    });

    test("does not take over a session that a program of it still has open, and continues it afterwards", async (open, llm, place) => {
      const entry = agent.entry(command ?? "", llm.url);
      let theirs = "";
      let sessionId = "";
      const where = { cwd: place.folder, mcpServers: [] };
      {
        await using program = new OwnProgram(place, entry);
        theirs = await program.converse("greet me");
        await using conversation = open("--data", join(place.home, SHARED));
        const { editor } = conversation;
        await editor.hello();
        ({ sessionId } = await foreign(editor, agent, theirs));
        await assert.rejects(editor.ask("session/load", { sessionId, ...where }), (error) => {
          const { data } = error as { data?: Json };
          const sure = agent.locked === undefined ? ".*may have" : "has";
          assert.match(data.details, new RegExp(`Process \\d+ \\(.*\\) ${sure} this session open`));
          return true;
        });
        const _meta = { trunkline: { force: true } };
        const forced = editor.ask("session/load", { sessionId, ...where, _meta });
        if (agent.locked === undefined) await forced;
        else await assert.rejects(forced, agent.locked);
      }
      await using conversation = open();
      const { editor } = conversation;
      await editor.hello();
      await foreign(editor, agent, theirs);
      await editor.ask("session/load", { sessionId, ...where });
      assert.equal(editor.text(), GREETING);
      const since = editor.messages.length;
      await editor.prompt(sessionId, "what did I say");
      assert.equal(editor.text(since), "You said much.");
      assert.match(
        wordsOf(llm.requests.findLast(isTurn)),
        /greet me.*Good morning.*what did I say/s,
      );
    });

    test("streams, asks before it writes, and sends only what the schemas know", async (open, _llm, place) => {
      const oracle = await Oracle.load();
      await using conversation = open();
      const { editor, asked } = conversation;
      const id = await editor.begin();
      const { stopReason } = await editor.prompt(id, "greet me");
      assert.equal(stopReason, "end_turn");
      assert.equal(editor.text(), GREETING);
      assert.ok(editor.updates("agent_message_chunk").length > 1, "it came in one piece");
      assert.ok(editor.updates("usage_update").length > 0);

      const since = editor.messages.length;
      await editor.prompt(id, "put allowed text there");
      assert.equal(editor.text(since), "It is written.");
      assert.equal(asked.length, 1);
      assert.equal(asked[0].sessionId, id);
      const { toolCallId } = asked[0].toolCall;
      const [call] = editor.updates("tool_call", since);
      assert.equal(call.toolCallId, toolCallId);
      const last = editor.updates("tool_call_update", since).at(-1);
      assert.deepEqual([last.toolCallId, last.status], [toolCallId, "completed"]);
      const path = join(place.folder, "new.txt");
      assert.equal(readFileSync(path, "utf8").trimEnd(), "allowed text");

      conversation.choice = "reject_once";
      const { stopReason: refused } = await editor.prompt(id, "put refused text there");
      assert.equal(refused, agent.refused ?? "end_turn");
      assert.equal(asked.length, 2);
      assert.equal(readFileSync(path, "utf8").trimEnd(), "allowed text");
      assert.deepEqual(
        conversation.written.map(({ content }) => content),
        agent.writesItself ? [] : ["allowed text"],
      );

      for (const message of editor.sent) oracle.sent(message);
      for (const message of editor.messages) oracle.received(message);
      assert.deepEqual(oracle.problems, []);
    });

    test("runs commands, and has the tools of the session's MCP servers", async (open, llm, place) => {
      await using conversation = open();
      const { editor } = conversation;
      await editor.hello();
      const args = [ECHO_SERVER, "weather", join(place.path, "calls")];
      const server = { name: "weather", command: process.execPath, args, env: [] };
      const { sessionId } = await editor.ask("session/new", {
        cwd: place.folder,
        mcpServers: [server],
      });
      await editor.prompt(String(sessionId), "run a command");
      assert.equal(readFileSync(join(place.folder, "ran.txt"), "utf8"), "ran\n");
      const since = editor.messages.length;
      if (agent.listsTools !== undefined) await editor.prompt(String(sessionId), agent.listsTools);
      const offered = toolsOf(llm.requests.findLast(isTurn)).join(", ");
      const tools = `${offered} ${editor.text(since)}`;
      assert.match(tools, /weather_do|`weather`: 2 tools/);
    });

    test("stops when it is cancelled, and continues afterwards", async (open) => {
      await using conversation = open();
      const { editor } = conversation;
      const id = await editor.begin();
      const long = editor.prompt(id, "go on for long");
      await editor.update(({ content }) => content?.text?.includes("word"));
      editor.notify("session/cancel", { sessionId: id });
      assert.equal((await long).stopReason, "cancelled");
      const since = editor.messages.length;
      await editor.prompt(id, "greet me");
      assert.equal(editor.text(since), GREETING);
    });

    test("is restarted after it was killed, with the whole conversation", async (open, llm) => {
      await using conversation = open();
      const { editor } = conversation;
      const id = await editor.begin();
      await editor.prompt(id, "greet me");
      const long = editor.prompt(id, "go on for long");
      await editor.update(({ content }) => content?.text?.includes("word"));
      const why = new RegExp(`Agent '${agent.name}' ended while it was working`);
      await Promise.all([assert.rejects(long, { message: why }), kill(editor)]);

      const since = editor.messages.length;
      await editor.prompt(id, "what did I say");
      assert.equal(editor.text(since), "You said much.");
      assert.match(
        wordsOf(llm.requests.findLast(isTurn)),
        /greet me.*Good morning.*go on for long.*what did I say/s,
      );
    });

    test("ends with a Trunkline that is killed, and continues the session in the next", async (open, llm, place) => {
      let id = "";
      {
        await using first = open();
        const { editor } = first;
        id = await editor.begin();
        await editor.prompt(id, "greet me");
        const prompt = [{ type: "text", text: "go on for long" }];
        editor.post("session/prompt", { sessionId: id, prompt });
        await editor.update(({ content }) => content?.text?.includes("word"));
        editor.program.child.kill("SIGKILL");
      }
      await using second = open();
      const { editor } = second;
      await editor.hello();
      const where = { cwd: place.folder, mcpServers: [] };
      await editor.ask("session/load", { sessionId: id, ...where });
      assert.deepEqual(
        editor.updates("user_message_chunk").map(({ content }) => content.text),
        ["greet me", "go on for long"],
      );
      const shown = editor.text();
      assert.ok(shown.startsWith(GREETING), shown);
      assert.equal(shown.split(GREETING).length, 2, "shown once");
      assert.match(shown, /word .*\[This turn was interrupted: /s);
      const since = editor.messages.length;
      await editor.prompt(id, "what did I say");
      assert.equal(editor.text(since), "You said much.");
      assert.match(
        wordsOf(llm.requests.findLast(isTurn)),
        /greet me.*Good morning.*what did I say/s,
      );
    });

    test("changes its mode and its model, as a mode and as an option", async (open, llm, place) => {
      const [asking, trusting] = agent.modes;
      const [first, other] = agent.models;
      await using conversation = open();
      const { editor, asked } = conversation;
      const sessionId = await editor.begin();
      const inForce = async (): Promise<string[]> => {
        const where = { cwd: place.folder, mcpServers: [] };
        const settings = await editor.ask("session/resume", { sessionId, ...where });
        const option = (kind: string) =>
          settings.configOptions.find(({ category }: Json) => category === kind);
        return [
          ...[settings.modes.currentModeId, option("mode").currentValue],
          ...[settings.models.currentModelId, option("model").currentValue],
        ];
      };
      assert.deepEqual(await inForce(), [asking, asking, first, first]);
      await editor.ask("session/set_mode", { sessionId, modeId: trusting });
      await editor.prompt(sessionId, "put allowed text there");
      assert.equal(readFileSync(join(place.folder, "new.txt"), "utf8").trimEnd(), "allowed text");
      assert.equal(asked.length, 0);
      await editor.ask("session/set_model", { sessionId, modelId: other });
      assert.deepEqual(await inForce(), [trusting, trusting, other, other]);
      await editor.prompt(sessionId, "greet me");
      assert.equal(llm.requests.findLast(isTurn)?.model, calledBy(agent, other));

      const set = (configId: string, value: string) =>
        editor.ask("session/set_config_option", { sessionId, configId, value });
      await set("mode", asking);
      await set("model", first);
      assert.deepEqual(await inForce(), [asking, asking, first, first]);
      await editor.prompt(sessionId, "put more text there");
      assert.equal(asked.length, 1);
      assert.equal(llm.requests.findLast(isTurn)?.model, calledBy(agent, first));
    });

    test("keeps the chosen mode and model when it is restarted", async (open, llm, place) => {
      const [, trusting] = agent.modes;
      const [first, other] = agent.models;
      await using conversation = open();
      const { editor, asked } = conversation;
      const sessionId = await editor.begin();
      await editor.prompt(sessionId, "greet me");
      await editor.ask("session/set_mode", { sessionId, modeId: trusting });
      await editor.ask("session/set_model", { sessionId, modelId: other });
      await kill(editor);
      await editor.prompt(sessionId, "what did I say");
      assert.equal(llm.requests.findLast(isTurn)?.model, calledBy(agent, other));
      await editor.ask("session/set_model", { sessionId, modelId: first });
      await editor.prompt(sessionId, "put allowed text there");
      assert.equal(readFileSync(join(place.folder, "new.txt"), "utf8").trimEnd(), "allowed text");
      assert.equal(asked.length, 0);
    });
  });
}
