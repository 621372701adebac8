import { setTimeout as delay } from "node:timers/promises";

import type { SeededRandom } from "../seeded-random.ts";
import type { AcpLine } from "./acp-line.ts";
import { ChaosClient, RETRY, type Surroundings } from "./chaos-client.ts";

/** Milliseconds. */
const PROMPT_WITHIN = 240_000;
/** A person thinks at most that long, in which nodes may fail. */
const THINKS = 6_000;
/** Within that time a question that nobody has answered is asked again, in a session that is open. */
const ASKED_WITHIN = 30_000;

/**
 * A client with one session whose agent asks for a permission in each turn. The person answers after a
 * while. If the turn is interrupted before, the question is asked again, and its answer counts for the
 * next turn.
 */
export class ChaosPermission implements Disposable {
  readonly name: string;
  readonly client: ChaosClient;
  readonly faults: string[] = [];
  /** Turns that finished, and questions that were asked once more after a fault. */
  finished = 0;
  askedAgain = 0;
  readonly #around: Surroundings;
  readonly #random: SeededRandom;
  /** The question that was shown last, and the connection on which its answer is expected. */
  #question: { readonly id: unknown; readonly line: AcpLine } | undefined;
  #isOver = false;

  constructor(name: string, around: Surroundings, random: SeededRandom) {
    this.name = name;
    this.#around = around;
    this.#random = random;
    this.client = new ChaosClient(around, random, ({ method, id, params }, line) => {
      if (method === "session/request_permission") this.#question = { id, line };
      // A turn that begins withdraws what was asked before, and asks again what it needs.
      else if (params?.requestId === this.#question?.id) this.#question = undefined;
    });
  }

  get id(): string {
    return this.client.id;
  }

  async work(isOver: () => boolean): Promise<void> {
    await this.client.begin({ cwd: this.#around.cwd, mcpServers: [] });
    for (let at = 0; !isOver(); at++) await this.#permitted(`${this.name}p${at}`);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.client[Symbol.dispose]();
  }

  /** Prompts until the turn has finished, as a person does who was told that it was interrupted. */
  async #permitted(tag: string): Promise<void> {
    while (!this.#isOver) {
      this.#question = undefined;
      const line = await this.client.joined();
      using _watch = this.client.leaveLater(line, 4 * THINKS);
      const over = new AbortController();
      const answering = this.#answer(line, over.signal);
      const answer = await this.client.prompt(line, `permission ${tag}`, PROMPT_WITHIN);
      over.abort();
      const isAnswered = await answering;
      if (answer?.result !== undefined) {
        const { text } = this.client.shown;
        if (!text.endsWith('"optionId":"once"}')) this.faults.push(`${tag}: ${text.slice(-100)}`);
        this.finished++;
        return;
      }
      await delay(RETRY);
      // A question that was shown and that nobody has answered stays.
      if (this.#question !== undefined && !isAnswered) await this.#answerAgain(tag);
    }
  }

  /** Answers the question of a running turn after a while. Returns false if it was not answered. */
  async #answer(line: AcpLine, over: AbortSignal): Promise<boolean> {
    while (this.#question === undefined && !over.aborted) await delay(20);
    await delay(this.#random.below(THINKS), undefined, { signal: over }).catch(() => {});
    if (this.#question === undefined || over.aborted || !line.isOpen) return false;
    line.respond(this.#question.id, ONCE);
    return true;
  }

  /**
   * Answers the question that is asked once more after a fault. On a connection that is still open, that
   * may have been done already: it is not asked a third time. A client that was told that it is no longer
   * in the session has to come back first.
   */
  async #answerAgain(tag: string): Promise<void> {
    while (!this.#isOver) {
      const line = await this.client.joined();
      const giveUp = performance.now() + ASKED_WITHIN;
      const isIn = (): boolean => line.isOpen && !this.client.shown.isLagged;
      while (this.#question?.line !== line && isIn() && !this.#isOver) {
        if (performance.now() > giveUp) {
          this.faults.push(`${tag}: the question was not asked again\n${this.client.shown.notes}`);
          return;
        }
        await delay(20);
      }
      if (this.#question?.line !== line || !isIn()) continue;
      this.askedAgain++;
      line.respond(this.#question.id, ONCE);
      return;
    }
  }
}

const ONCE = { outcome: { outcome: "selected", optionId: "once" } };
