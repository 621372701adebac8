import { setTimeout as delay } from "node:timers/promises";

import type { Json } from "../acp-house.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { AcpLine, LineLost } from "./acp-line.ts";
import type { Address } from "./chaos-fleet.ts";

/** Milliseconds. */
const OPENED_WITHIN = 60_000;
const PROMPT_WITHIN = 240_000;
/** A client leaves a connection on which nothing has come for that long while its prompt runs. */
const SILENT = 6_000;
const RETRY = 200;

/** A prompt, and how it ended as far as the client knows. */
export interface Turn {
  readonly tag: string;
  readonly count: number;
  end?: "finished" | "interrupted" | "unknown";
}

/** What the clients of all sessions share. */
export interface Surroundings {
  readonly cwd: string;
  /** The gateways that can be tried; some of them may be paused or cut off. */
  readonly gateways: () => readonly Address[];
  /** Counts what an error said. */
  readonly refused: (words: string) => void;
}

/** What a client was shown of a session: the text of the agent, each piece once. */
export class Shown {
  readonly pieces: string[] = [];
  /** Number of the last event. */
  last = 0;
  readonly faults: string[] = [];
  /** The client was told that it fell behind. */
  isLagged = false;

  take({ method, params }: Json): void {
    if (method !== "session/update") return;
    const { update, _meta } = params;
    if (update._meta?.trunkline?.lagged !== undefined) {
      this.isLagged = true;
      return;
    }
    const { seq } = _meta?.trunkline ?? {};
    if (typeof seq === "number") {
      const isLate = seq < this.last && this.faults.length === 0;
      if (isLate) this.faults.push(`event ${seq} came after ${this.last}`);
      this.last = Math.max(this.last, seq);
    }
    if (update.sessionUpdate === "agent_message_chunk") this.pieces.push(update.content.text);
  }

  get text(): string {
    return this.pieces.join("");
  }
}

/** A client with one session that prompts again and again, and comes back whenever it loses its gateway. */
export class ChaosSession {
  readonly name: string;
  readonly shown = new Shown();
  readonly turns: Turn[] = [];
  id = "";
  /** How often it connected again. */
  reconnects = 0;
  readonly #around: Surroundings;
  readonly #random: SeededRandom;
  #line: AcpLine | undefined;

  constructor(name: string, around: Surroundings, random: SeededRandom) {
    this.name = name;
    this.#around = around;
    this.#random = random;
  }

  /** Prompts until it is told to stop, and then until one more turn has finished. */
  async work(isOver: () => boolean): Promise<void> {
    await this.#begin();
    while (!isOver()) await this.#turn(20 + this.#random.below(150));
    while ((await this.#turn(3)) !== "finished");
  }

  [Symbol.dispose](): void {
    this.#line?.[Symbol.dispose]();
  }

  async #begin(): Promise<void> {
    const setup = { cwd: this.#around.cwd, mcpServers: [] };
    while (this.id === "") {
      const answer = await this.#ask("session/new", setup, OPENED_WITHIN);
      if (answer !== undefined) this.id = answer.sessionId;
    }
  }

  async #turn(count: number): Promise<Turn["end"]> {
    const line = await this.#joined();
    const turn: Turn = { tag: `${this.name}t${this.turns.length}`, count };
    const words = `pace ${turn.tag} ${count} ${60 + this.#random.below(120)}`;
    const watch = this.#leaveLater(line);
    try {
      const prompt = [{ type: "text", text: words }];
      const params = { sessionId: this.id, prompt };
      const { result, error } = await line.ask("session/prompt", params, PROMPT_WITHIN);
      if (error === undefined) {
        if (result.stopReason !== "end_turn") throw new Error(`Stopped: ${JSON.stringify(result)}`);
        turn.end = "finished";
      } else if (error.data?.interrupted === true) turn.end = "interrupted";
      else {
        turn.end = "unknown";
        this.#around.refused(`session/prompt: ${wordsOf(error)}`);
        await delay(RETRY);
      }
    } catch (error) {
      if (!(error instanceof LineLost)) throw error;
      turn.end = "unknown";
      line[Symbol.dispose]();
    } finally {
      watch[Symbol.dispose]();
    }
    this.turns.push(turn);
    return turn.end;
  }

  /** Leaves a silent gateway, and sometimes one with which nothing is wrong. */
  #leaveLater(line: AcpLine): Disposable {
    const leaves = this.#random.once(6) ? this.#random.below(5_000) : undefined;
    const begun = performance.now();
    line.heard = begun;
    const timer = setInterval(() => {
      const now = performance.now();
      const isSilent = now - line.heard > SILENT;
      if (isSilent || this.shown.isLagged || (leaves !== undefined && now - begun > leaves))
        line[Symbol.dispose]();
    }, 250);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** A connection on which the client is in its session and has seen everything up to now. */
  async #joined(): Promise<AcpLine> {
    for (;;) {
      if (this.#line?.isOpen === true && !this.shown.isLagged) return this.#line;
      this.#line?.[Symbol.dispose]();
      this.shown.isLagged = false;
      const { cwd } = this.#around;
      const _meta = { trunkline: { after: this.shown.last, sequence: true } };
      const params = { sessionId: this.id, cwd, mcpServers: [], _meta };
      await this.#ask("session/resume", params, OPENED_WITHIN);
      this.reconnects++;
    }
  }

  /** Undefined if the connection was lost or the request was refused. */
  async #ask(method: string, params: object, within: number): Promise<Json> {
    const gateways = this.#around.gateways();
    if (gateways.length === 0) {
      await delay(RETRY);
      return undefined;
    }
    const { acp, headers } = this.#random.pick(gateways);
    const begun = performance.now();
    let line: AcpLine | undefined;
    try {
      line = await AcpLine.connect(acp, headers, (message) => {
        if (line === this.#line) this.shown.take(message);
      });
      this.#line = line;
      const { result, error } = await line.ask(method, params, within);
      if (error === undefined) return result;
      this.#around.refused(`${method}: ${wordsOf(error)}`);
    } catch (error) {
      if (!(error instanceof LineLost)) throw error;
      if (performance.now() - begun > within) {
        this.#around.refused(`${method}: no answer in ${within} ms`);
      }
    }
    line?.[Symbol.dispose]();
    await delay(RETRY);
    return undefined;
  }
}

function wordsOf({ code, message, data }: Json): string {
  const { details = "" } = data ?? {};
  return `${code} ${message} ${details}`.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID");
}

/**
 * What is wrong with the text of a session: a turn that finished is there once and whole, any other has
 * only its beginning, and nobody ran a prompt twice.
 */
export function faultsOf(text: string, turns: readonly Turn[]): string[] {
  const numbers = new Map<string, number[]>();
  for (const [, tag = "", number] of text.matchAll(/(\w+):(\d+) /g)) {
    const those = numbers.get(tag) ?? [];
    those.push(Number(number));
    numbers.set(tag, those);
  }
  return turns.flatMap(({ tag, count, end }) => {
    const those = numbers.get(tag) ?? [];
    const wrong = those.findIndex((number, at) => number !== at);
    if (wrong !== -1) return [`${tag}: ${those[wrong]} came instead of ${wrong}`];
    if (end === "finished" && those.length !== count) {
      return [`${tag}: ${those.length} of ${count} numbers of a finished turn`];
    }
    return [];
  });
}
