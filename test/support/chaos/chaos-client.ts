import { setTimeout as delay } from "node:timers/promises";

import type { Json } from "../acp-app.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { AcpLine, LineLost } from "./acp-line.ts";
import type { Address } from "./chaos-fleet.ts";
import { Shown } from "./shown.ts";

/** Milliseconds. */
const OPENED_WITHIN = 60_000;
/** A client leaves a connection on which nothing has come for that long while it waits for something. */
const SILENT = 6_000;
export const RETRY = 200;

/** What the clients of all sessions share. */
export interface Surroundings {
  readonly cwd: string;
  /** The gateways that can be tried; some of them may be paused or cut off. */
  readonly gateways: () => readonly Address[];
  /** Counts what an error said. */
  readonly refused: (words: string) => void;
}

/** A client of one session that comes back whenever it loses its gateway. */
export class ChaosClient implements Disposable {
  readonly shown = new Shown();
  id = "";
  /** How often it connected again. */
  reconnects = 0;
  readonly #around: Surroundings;
  readonly #random: SeededRandom;
  readonly #asked: (message: Json, line: AcpLine) => void;
  #line: AcpLine | undefined;
  #isOver = false;

  /** `asked` gets the requests of the session, and their withdrawals, and the connection they came on. */
  constructor(
    around: Surroundings,
    random: SeededRandom,
    asked: (message: Json, line: AcpLine) => void = () => {},
  ) {
    this.#around = around;
    this.#random = random;
    this.#asked = asked;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#line?.[Symbol.dispose]();
  }

  /** Begins a session. Resolves to the answer. */
  async begin(params: object): Promise<Json> {
    for (;;) {
      const answer = await this.#ask("session/new", params);
      if (answer === undefined) continue;
      this.id = answer.sessionId;
      return answer;
    }
  }

  /** A connection on which the client is in its session and has seen everything up to now. */
  async joined(): Promise<AcpLine> {
    for (;;) {
      if (this.#line?.isOpen === true && !this.shown.isLagged) return this.#line;
      this.#line?.[Symbol.dispose]();
      this.shown.isLagged = false;
      const { cwd } = this.#around;
      const _meta = { trunkline: { after: this.shown.last, sequence: true } };
      await this.#ask("session/resume", { sessionId: this.id, cwd, mcpServers: [], _meta });
      this.reconnects++;
    }
  }

  /** Leaves a silent gateway, and sometimes (`after` milliseconds) one with which nothing is wrong. */
  leaveLater(line: AcpLine, after = Infinity): Disposable {
    const begun = performance.now();
    line.heard = begun;
    const timer = setInterval(() => {
      const now = performance.now();
      const isSilent = now - line.heard > SILENT;
      if (isSilent || this.shown.isLagged || now - begun > after) line[Symbol.dispose]();
    }, 250);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** The answer; undefined if the connection was lost. */
  async prompt(line: AcpLine, text: string, within: number): Promise<Json> {
    try {
      const prompt = [{ type: "text", text }];
      this.shown.note(text);
      const answer = await line.ask("session/prompt", { sessionId: this.id, prompt }, within);
      this.shown.note(JSON.stringify(answer.error ?? answer.result));
      const { error } = answer;
      if (error === undefined || error.data?.interrupted === true) return answer;
      this.#around.refused(`session/prompt: ${wordsOf(error)}`);
      await delay(RETRY);
      return answer;
    } catch (error) {
      if (!(error instanceof LineLost)) throw error;
      this.shown.note(error.message);
      line[Symbol.dispose]();
      return undefined;
    }
  }

  /** Undefined if the connection was lost or the request was refused. */
  async #ask(method: string, params: object): Promise<Json> {
    if (this.#isOver) throw new Error("The test has ended");
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
        if (line === undefined || line !== this.#line) return;
        this.shown.take(message);
        if (message.method === "session/update") return;
        this.shown.note(`${message.method} ${message.id ?? message.params?.requestId}`);
        this.#asked(message, line);
      });
      this.#line = line;
      this.shown.note(`${method} after ${this.shown.last} at ${acp}`);
      const { result, error } = await line.ask(method, params, OPENED_WITHIN);
      this.shown.note(JSON.stringify(result?._meta?.trunkline ?? error ?? ""));
      if (error === undefined) return result;
      this.#around.refused(`${method}: ${wordsOf(error)}`);
    } catch (error) {
      if (!(error instanceof LineLost)) throw error;
      this.shown.note(error.message);
      if (performance.now() - begun > OPENED_WITHIN) {
        this.#around.refused(`${method}: no answer in ${OPENED_WITHIN} ms`);
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
