import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Message } from "./acp-app.ts";
import { Program } from "./program.ts";
import { SeededRandom } from "./seeded-random.ts";

const AGENT = join(import.meta.dirname, "acp-agent.mjs");
const SESSIONS = 4;

/**
 * Kills the program again and again while several sessions stream, and looks each time whether all
 * that clients had been shown is still there.
 */
export async function killAgainAndAgain(kills: number, seed: number): Promise<number> {
  const random = new SeededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), "trunkline-kill-"));
  const config = join(folder, "config.jsonc");
  const other = { command: process.execPath, args: [AGENT, "--loads"] };
  writeFileSync(config, JSON.stringify({ agent: "other", agents: { other } }));
  const args = ["acp", "--config", config, "--data", join(folder, "data")];
  let checked = 0;
  let sessions: readonly string[] = [];
  try {
    for (let at = 0; at < kills; at++) {
      await using program = new Program(args);
      const client = new LineClient(program);
      await client.ask("initialize", { protocolVersion: 1 });
      // Old conversations get long; new ones are killed at their beginning.
      if (at % 5 === 0) sessions = await begin(client, folder);
      else for (const id of sessions) await client.load(id, folder);
      const seen = new Map<string, string>();
      client.onText = (id, text) => seen.set(id, (seen.get(id) ?? "") + text);
      for (const sessionId of sessions) client.prompt(sessionId, `forever`);
      // Every other time they have been shown something, however busy the machine is.
      const characters = (): number => [...seen.values()].join("").length;
      if (at % 2 === 1) await program.until(() => characters() > 20);
      await delay(random.below(250));
      program.child.kill("SIGKILL");
      assert.equal(await program.exit, "SIGKILL");
      checked += await check(args, folder, seen, sessions);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return checked;
}

async function begin(client: LineClient, cwd: string): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < SESSIONS; at++) {
    const { sessionId } = await client.ask("session/new", { cwd, mcpServers: [] });
    ids.push(String(sessionId));
  }
  return ids;
}

/** What a new process finds: everything that was shown, and that the turn had no end. */
async function check(
  args: readonly string[],
  cwd: string,
  seen: ReadonlyMap<string, string>,
  sessions: readonly string[],
): Promise<number> {
  await using program = new Program(args);
  const client = new LineClient(program);
  await client.ask("initialize", { protocolVersion: 1 });
  let characters = 0;
  for (const id of sessions) {
    const turns = await client.load(id, cwd);
    const shown = seen.get(id) ?? "";
    const last = turns.at(-1) ?? "";
    if (shown !== "") {
      assert.ok(
        last.startsWith(shown),
        `lost: '${shown.slice(-40)}' is not in '${last.slice(-80)}'`,
      );
      assert.match(last, /\[This turn was interrupted: [^\]]*\]\s*$/);
    }
    const numbers = last
      .replace(/\[This.*/s, "")
      .trim()
      .split(/\s+/)
      .filter(Boolean);
    assert.ok(
      numbers.every((text, index) => text === String(index)),
      `misread: ${last.slice(0, 200)}`,
    );
    characters += shown.length;
  }
  program.child.stdin.end();
  assert.equal(await program.exit, 0);
  return characters;
}

class LineClient {
  onText: (sessionId: string, text: string) => void = () => {};
  #turns: string[] | undefined;
  readonly #program: Program;
  readonly #pending = new Map<number, (message: Message) => void>();
  #lastId = 0;
  #read = 0;

  constructor(program: Program) {
    this.#program = program;
    program.child.stdout.on("data", () => this.#look());
  }

  async ask(method: string, params: object): Promise<Message> {
    const id = ++this.#lastId;
    const answered = new Promise<Message>((resolve) => this.#pending.set(id, resolve));
    this.#program.write({ jsonrpc: "2.0", id, method, params });
    const early = this.#program.exit.then((code): never => {
      throw new Error(`The program ended early (${code}): ${this.#program.stderr}`);
    });
    const { result, error } = await Promise.race([answered, early]);
    assert.equal(error, undefined);
    return result as Message;
  }

  prompt(sessionId: string, text: string): void {
    const prompt = [{ type: "text", text }];
    const id = ++this.#lastId;
    this.#program.write({
      jsonrpc: "2.0",
      id,
      method: "session/prompt",
      params: { sessionId, prompt },
    });
  }

  /** Loads a session; what was said in each turn comes back. */
  async load(sessionId: string, cwd: string): Promise<string[]> {
    const turns: string[] = (this.#turns = []);
    await this.ask("session/load", { sessionId, cwd, mcpServers: [] });
    this.#turns = undefined;
    return turns;
  }

  #look(): void {
    for (const line of this.#program.lines.slice(this.#read)) {
      this.#read++;
      const message = JSON.parse(line) as Message;
      if (message.method === "session/update") this.#update(message.params as Message);
      else this.#pending.get(message.id as number)?.(message);
    }
  }

  #update({ sessionId, update }: Message): void {
    if (update.sessionUpdate === "user_message_chunk") this.#turns?.push("");
    if (update.sessionUpdate !== "agent_message_chunk") return;
    const text = update.content.text as string;
    if (this.#turns === undefined) this.onText(sessionId as string, text);
    else this.#turns.push((this.#turns.pop() ?? "") + text);
  }
}
