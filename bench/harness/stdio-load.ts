import { readLines } from "./line-reader.ts";
import type { Program } from "./program.ts";
import { Tally } from "./tally.ts";

/** One kind of request, identified by its id, and the expected answer. */
export interface Exchange {
  readonly request: (id: number) => string;
  readonly isRight: (id: number, result: unknown) => boolean;
}

/** How many requests are sent in one write; at most twice as many wait for an answer. */
const BATCH = 250;

/** Sends requests to a program's standard input and checks every answer. */
export class StdioLoad {
  readonly #program: Program;
  readonly #exchange: Exchange;
  readonly #answers = new Tally();
  readonly #open = new Set<number>();
  readonly #first = Promise.withResolvers<unknown>();
  readonly #listed = Promise.withResolvers<unknown>();
  #lastId = 0;

  constructor(program: Program, exchange: Exchange) {
    this.#program = program;
    this.#exchange = exchange;
    readLines(program.stdout, (line) => this.#answered(line));
  }

  /** Sends `initialize` with the id 0, and returns its result. */
  async open(method: string, params: unknown): Promise<unknown> {
    this.#program.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 0, method, params })}\n`);
    return await this.#program.until(this.#first.promise);
  }

  /** Asks for the list of tools, and returns the result. */
  async list(): Promise<unknown> {
    this.#program.stdin.write(`{"jsonrpc":"2.0","id":-1,"method":"tools/list"}\n`);
    return await this.#program.until(this.#listed.promise);
  }

  /** Sends `count` requests without waiting for each, and waits for all answers. */
  async pipeline(count: number): Promise<void> {
    const end = this.#lastId + count;
    while (this.#lastId < end) {
      this.#send(Math.min(BATCH, end - this.#lastId));
      await this.#program.until(this.#answers.reach(this.#lastId - BATCH));
    }
    await this.#program.until(this.#answers.reach(end));
  }

  /** Sends `count` requests, of which so many wait for an answer at any time. */
  async window(count: number, atOnce: number): Promise<void> {
    const end = this.#lastId + count;
    const began = this.#lastId;
    this.#send(Math.min(atOnce, count));
    while (this.#lastId < end) {
      const answered = this.#lastId - atOnce + 1;
      await this.#program.until(this.#answers.reach(Math.max(answered, began + 1)));
      this.#send(Math.min(end - this.#lastId, atOnce - (this.#lastId - this.#answers.count)));
    }
    await this.#program.until(this.#answers.reach(end));
  }

  /** Sends one request after another. Returns the microseconds that each took. */
  async serial(count: number): Promise<number[]> {
    const times: number[] = [];
    for (let i = 0; i < count; i++) {
      const start = performance.now();
      this.#send(1);
      await this.#program.until(this.#answers.reach(this.#lastId));
      times.push((performance.now() - start) * 1000);
    }
    return times;
  }

  #send(count: number): void {
    let text = "";
    for (let i = 0; i < count; i++) {
      this.#lastId++;
      this.#open.add(this.#lastId);
      text += `${this.#exchange.request(this.#lastId)}\n`;
    }
    this.#program.stdin.write(text);
  }

  #answered(line: string): void {
    const { id, result } = JSON.parse(line) as { id?: number; result: unknown };
    if (id === undefined) return;
    if (id === 0) this.#first.resolve(result);
    else if (id === -1) this.#listed.resolve(result);
    else if (this.#open.delete(id) && this.#exchange.isRight(id, result)) this.#answers.add();
    else this.#answers.wrong(`This is no answer to any request: ${line}`);
  }
}
