import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import type { Json } from "../support/acp-app.ts";
import { Place } from "../support/acp-editor.ts";
import { gone } from "../support/running-at.ts";
import { to, toCall } from "./fake-prompts.ts";
import type { AgentEntry, OtherAgent } from "./other-agents.ts";

/** Every capability that the newest schemas know, and what editors announce in `_meta`. */
export const EVERYTHING = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
  plan: {},
  subagents: {},
  elicitation: { form: {}, url: {} },
  auth: { terminal: true, _meta: { gateway: true } },
  _meta: { terminal_output_delta: true, "terminal-auth": true },
};

export const PROGRAM = join(import.meta.dirname, "../../dist/trunkline.js");

const PROMPTS = ["greet me", "run a command", "write a file"];

function script(agent: OtherAgent): Scripted[] {
  return [
    to("greet me", { content: "Good morning from the model, in quite a few pieces." }),
    ...toCall("run a command", { toolCalls: [agent.run("echo one; echo two")] }, "It has run."),
    ...toCall("write a file", { toolCalls: [agent.write("new.txt", "text")] }, "It is written."),
    ...Object.values(agent.more ?? {}).flat(),
    { content: "A title", when: () => true },
  ];
}

/** What an editor was sent in a conversation: the answers by their methods, and all else in its order. */
export interface Recorded {
  readonly answers: Readonly<Record<string, Json>>;
  readonly told: readonly Json[];
}

/** An editor that talks to a program, and writes down what it is sent. */
export class Recorder implements AsyncDisposable {
  readonly told: Json[] = [];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #terminals: string[] = [];
  readonly #asked = new Map<number, PromiseWithResolvers<Json>>();

  constructor({ command, args, env }: AgentEntry, place: Place) {
    const { PATH } = process.env;
    this.#child = spawn(command, args, {
      cwd: place.folder,
      env: { PATH, HOME: place.home, TMPDIR: place.home, ...env },
    });
    this.#child.stderr.resume();
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) this.#heard(JSON.parse(line));
    });
  }

  async ask(method: string, params: object): Promise<Json> {
    const id = this.#asked.size + 1;
    const asked = Promise.withResolvers<Json>();
    this.#asked.set(id, asked);
    this.#send({ id, method, params });
    const died = once(this.#child, "close").then(() => Promise.reject(new Error("It has ended")));
    return await Promise.race([asked.promise, died]);
  }

  #send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #heard(message: Json): void {
    const { id, method, params, result, error } = message;
    if (method === undefined) return this.#asked.get(id)?.resolve(result ?? { error });
    this.told.push({ method, params });
    if (id === undefined) return undefined;
    if (method === "session/request_permission") {
      const { optionId } = params.options.find(({ kind }: Json) => kind === "allow_once");
      return this.#send({ id, result: { outcome: { outcome: "selected", optionId } } });
    }
    if (method === "fs/read_text_file") {
      return this.#send({ id, result: { content: readFileSync(params.path as string, "utf8") } });
    }
    if (method === "fs/write_text_file") {
      writeFileSync(params.path as string, params.content as string);
      return this.#send({ id, result: {} });
    }
    const shown = this.#terminal(method as string, params);
    if (shown !== undefined) return this.#send({ id, result: shown });
    return this.#send({ id, error: { code: -32601, message: "Method not found" } });
  }

  /** A terminal of the editor: the command has ended when its id is known. */
  #terminal(method: string, { command, args = [], cwd, terminalId }: Json): object | undefined {
    const exitStatus = { exitCode: 0, signal: null };
    switch (method) {
      case "terminal/create": {
        const words = [command, ...args].join(" ");
        const output = execFileSync("sh", ["-c", words], { cwd, encoding: "utf8" });
        return { terminalId: `terminal-${this.#terminals.push(output)}` };
      }
      case "terminal/output": {
        const output = this.#terminals[Number(String(terminalId).slice("terminal-".length)) - 1];
        return { output, truncated: false, exitStatus };
      }
      case "terminal/wait_for_exit":
        return exitStatus;
      case "terminal/kill":
      case "terminal/release":
        return {};
      default:
        return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const closed = once(this.#child, "close");
      const timer = setTimeout(() => this.#child.kill(), 5_000);
      await closed;
      clearTimeout(timer);
    }
  }
}

/** The scripted conversation with an agent, directly or through Trunkline. */
export async function record(
  agent: OtherAgent,
  command: string,
  { through, capabilities }: { readonly through: boolean; readonly capabilities: object },
): Promise<Recorded> {
  await using llm = await FakeLlm.start(script(agent));
  using place = new Place();
  const direct = agent.entry(command, llm.url);
  const config = join(place.path, "config.jsonc");
  const messages = Object.fromEntries(
    ["initialize", "session/new"].map((name) => [name, { timeout: 240_000 }]),
  );
  const entry = { ...direct, env: { ...direct.env, ...agent.allTools } };
  writeFileSync(
    config,
    JSON.stringify({ agent: "it", agents: { it: entry }, limits: { messages } }),
  );
  mkdirSync(join(place.folder, ".git"));
  const args = [PROGRAM, "acp", "--config", config];
  const answers: Record<string, Json> = {};
  const told: Json[] = [];
  // The first conversation is the one in which Trunkline learns of the agent.
  for (let count = through ? 2 : 1; count > 0; count--) {
    told.length = 0;
    await using editor = new Recorder(
      through ? { command: process.execPath, args, env: {} } : entry,
      place,
    );
    const ask = async (method: string, params: object, name = method): Promise<Json> =>
      (answers[name] = await editor.ask(method, params));
    const clientInfo = { name: "editor", version: "1" };
    await ask("initialize", { protocolVersion: 1, clientCapabilities: capabilities, clientInfo });
    const { sessionId } = await ask("session/new", { cwd: place.folder, mcpServers: [] });
    const prompts = [...PROMPTS, ...Object.keys(agent.more ?? {})];
    for (const text of count === 2 ? [] : prompts) {
      await ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] }, text);
    }
    told.push(...editor.told);
  }
  await gone(place.home);
  const text = JSON.stringify({ answers, told }).replaceAll(place.path, "PLACE");
  // Some agents name files from the root of the disk.
  const named = text
    .replaceAll(place.path.slice(1), "PLACE")
    .replaceAll(place.path.replaceAll(/\W/g, "-"), "PLACE");
  return JSON.parse(named.replaceAll(llm.url, "LLM")) as Recorded;
}
