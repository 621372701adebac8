import { setTimeout as delay } from "node:timers/promises";

import { type AcpSocket, promptOf } from "../acp-socket.ts";
import { SeededRandom } from "../seeded-random.ts";
import { openingOf, type Project, type RunRig } from "./run-rig.ts";

export interface Target {
  readonly branch: string;
  readonly revision: string;
}

/** A turn that was requested, and what is known about its end. */
export interface SoakTurn {
  readonly file: string;
  readonly content: string;
  /** How it ended, if an answer came: the branch then contains it. */
  run?: string;
  target?: Target;
}

/** The longest time that a turn works, in milliseconds. */
const LONGEST_WORK = 400;
/** Milliseconds after which an IDE gives up a request, except a prompt (remote run guide, "Connection"). */
const REQUEST_LIMIT = 60_000;
/** The characters of what a session has said that a failure quotes. */
const MOST_SAID = 2_000;

/**
 * An IDE with one session. It sometimes disconnects, even during turns, and its server may be killed at
 * any time. It then continues as a person would: connects again, loads the session, and sends the next
 * prompt.
 */
export class SoakSession {
  readonly project: Project;
  readonly turns: SoakTurn[] = [];
  id = "";
  target: Target | undefined;
  disconnects = 0;
  readonly #run: RunRig;
  readonly #random: SeededRandom;
  readonly #name: string;
  #ide: AcpSocket | undefined;
  readonly #turnEnded: () => void;

  constructor(run: RunRig, project: Project, number: number, seed: number, turnEnded: () => void) {
    this.#run = run;
    this.project = project;
    this.#name = `s${number}`;
    this.#random = new SeededRandom(seed + number);
    this.#turnEnded = turnEnded;
  }

  async work(turns: number): Promise<void> {
    await this.#begin();
    for (let at = 1; at < turns; at++) await this.#turn(at, this.#random.once(3));
    // It waits for the last turn, with as many attempts as that takes.
    for (let at = turns; this.turns.at(-1)?.run !== "pushed"; at++) await this.#turn(at, false);
  }

  [Symbol.dispose](): void {
    this.#ide?.[Symbol.dispose]();
  }

  async #begin(): Promise<void> {
    while (this.id === "") {
      const answer = await this.#ask("session/new", openingOf(this.project));
      if (answer === undefined) continue;
      this.id = answer.sessionId as string;
      this.target = answer._meta.target as Target;
    }
  }

  async #turn(at: number, leaves: boolean): Promise<void> {
    const content = `turn ${at} of ${this.#name}`;
    const turn: SoakTurn = { file: `${this.#name}-${at}.txt`, content };
    const milliseconds = this.#random.below(LONGEST_WORK);
    const text = `put ${turn.file}|${content}|${milliseconds}`;
    this.turns.push(turn);
    for (;;) {
      const ide = await this.#connected();
      if (ide === undefined) return;
      if (leaves) {
        ide.send("session/prompt", promptOf(this.id, text));
        await delay(this.#random.below(2 * LONGEST_WORK));
        this.disconnects++;
        ide[Symbol.dispose]();
        this.#ide = undefined;
        return this.#turnEnded();
      }
      const answer = await ide
        .answer("session/prompt", promptOf(this.id, text))
        .catch(() => undefined);
      if (answer === undefined) return;
      if (/is working on a prompt/.test(JSON.stringify(answer.error ?? ""))) {
        // A connection may send ten prompts a minute, so it sends the next after the other turn has ended.
        await this.#otherTurnEnds(ide);
        continue;
      }
      if (answer.error !== undefined) throw this.#refused(ide, text, answer.error);
      const { target, trunkline } = answer.result._meta;
      turn.run = trunkline.run;
      turn.target = target;
      return this.#turnEnded();
    }
  }

  /** Waits for the end of a turn, for the end of the connection, or for ten seconds if neither is seen. */
  async #otherTurnEnds(ide: AcpSocket): Promise<void> {
    const since = ide.messages.length;
    const late = new AbortController();
    const { signal } = late;
    const ended = ide.until(() => endOfTurn(ide, since));
    await Promise.race([ended, delay(10_000, undefined, { signal })]).catch(() => {});
    late.abort();
  }

  /** Says how the turns before have ended: a refusal may be a consequence. */
  #refused(ide: AcpSocket, prompt: string, error: object): Error {
    const ends = this.turns.map(({ run = "unknown" }) => run).join(", ");
    const said = ide.text.slice(-MOST_SAID);
    return new Error(`${prompt}: ${JSON.stringify(error)}\nTurns: ${ends}\nSaid: ${said}`);
  }

  /** A connection on which the session is loaded; undefined if it was lost again. */
  async #connected(): Promise<AcpSocket | undefined> {
    if (this.#ide?.socket.readyState === 1) return this.#ide;
    const setup = { sessionId: this.id, cwd: "", mcpServers: [] };
    const loaded = await this.#ask("session/load", setup);
    if (loaded === undefined) return undefined;
    const { branch } = loaded._meta.target as Target;
    if (branch !== this.target?.branch) throw new Error(`The branch became '${branch}'`);
    return this.#ide;
  }

  /** Undefined if the connection was lost. Throws if the server refuses. */
  async #ask(method: string, params: object) {
    try {
      if (this.#ide?.socket.readyState !== 1) this.#ide = await this.#run.connect();
    } catch {
      await delay(50);
      return undefined;
    }
    const ide = this.#ide;
    const begun = performance.now();
    const answer = await ide.answer(method, params).catch(() => undefined);
    const took = performance.now() - begun;
    if (took > REQUEST_LIMIT) throw new Error(`'${method}' took ${Math.round(took)} ms`);
    if (answer?.error === undefined) return answer?.result;
    throw new Error(`'${method}' failed: ${JSON.stringify(answer.error)}`);
  }
}

/** Whether an update tells the person that a turn has ended. */
function endOfTurn({ messages }: AcpSocket, since: number): true | undefined {
  const isEnd = /_(?:Pushed|Nothing was changed|Not pushed|Committed as)/;
  const texts = messages.slice(since).map(({ params }) => params?.update?.content?.text);
  return texts.some((text) => typeof text === "string" && isEnd.test(text)) ? true : undefined;
}
