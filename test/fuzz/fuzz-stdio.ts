import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { rounds } from "../support/full-run.ts";
import type { Program } from "../support/program.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { HostileLines, type Vocabulary } from "./hostile-lines.ts";
import { Ledger, type LedgerOptions } from "./ledger.ts";
import { Measuring, withProgram } from "./measured-program.ts";

export interface StdioFuzz {
  readonly random: SeededRandom;
  readonly vocabulary: Vocabulary;
  readonly ledger: LedgerOptions;
  /** Lines that are measured. */
  readonly count: number;
  /** A request that is always answered. */
  readonly probe: { readonly method: string; readonly params: object };
  /** Whether errors that name no request may be left out: who sends many of them is not told of each. */
  readonly isRated?: boolean;
}

/** Lines between two probes. */
const BLOCK = 500;
/** Lines after which the program runs as it will go on to run. */
const WARM_UP = rounds({ few: 1_000, all: 5_000 });
/** Milliseconds that a probe may take on a machine that is busy. */
const PATIENCE = 60_000;

/** Speaks with a program over its standard streams, and knows what it owes. */
export class StdioFuzzer {
  readonly #program: Program;
  readonly #options: StdioFuzz;
  readonly #lines: HostileLines;
  readonly #ledger: Ledger;
  #probes = 0;

  constructor(program: Program, options: StdioFuzz) {
    this.#program = program;
    this.#options = options;
    this.#lines = new HostileLines(options.random, options.vocabulary);
    this.#ledger = new Ledger(options.ledger);
  }

  /** Sends all, ends the input, and fails unless everything was answered and nothing stalled. */
  async run(): Promise<string> {
    return withProgram(this.#program, () => this.#run());
  }

  async #run(): Promise<string> {
    const { count, isRated = false } = this.#options;
    await this.send(WARM_UP);
    const measuring = await Measuring.begin(this.#program);
    await this.send(count);
    const memory = await measuring.expectBounded({ kept: 40, rss: 250 });
    const worst = measuring.expectNoStall();
    const { stdin } = this.#program.child;
    // A line that is not whole is as good as none, or is answered.
    stdin.end(`{"jsonrpc":"2.0","id":`);
    this.#ledger.nameless.due++;
    assert.equal(await this.#exit(), 0, this.#program.stderr.slice(-2000));
    this.#take();
    const { missing, surplus, nameless, unclear, requests } = this.#ledger;
    assert.deepEqual(missing.slice(0, 20), [], "have no answer");
    assert.deepEqual(surplus.slice(0, 20), [], "answer nothing");
    assert.ok(nameless.came <= nameless.due + unclear, JSON.stringify({ nameless, unclear }));
    if (!isRated) assert.ok(nameless.came >= nameless.due, JSON.stringify({ nameless, unclear }));
    return `${count} lines, ${requests} requests; longest turn ${worst.toFixed(0)} ms; ${memory.kept.toFixed(1)} MiB kept, ${memory.rss.toFixed(0)} MiB taken`;
  }

  /** Sends so many lines, and waits for a probe after each block of them. */
  async send(count: number): Promise<void> {
    const { random } = this.#options;
    for (let sent = 0; sent < count; sent += BLOCK) {
      const bytes = this.#lines.lines(Math.min(BLOCK, count - sent));
      this.#ledger.sent(bytes);
      const chunks = random.once(4) ? random.cut(bytes, 1 + random.below(5000)) : [bytes];
      for (const chunk of chunks) await this.#write(chunk);
      await this.#probe();
    }
  }

  async #write(chunk: Buffer): Promise<void> {
    const { stdin } = this.#program.child;
    if (stdin.write(chunk)) return;
    await Promise.race([once(stdin, "drain"), this.#program.exit]);
  }

  async #probe(): Promise<void> {
    const id = `probe ${++this.#probes}`;
    const bytes = Buffer.from(
      `\n${JSON.stringify({ jsonrpc: "2.0", id, ...this.#options.probe })}\n`,
    );
    this.#ledger.sent(bytes);
    await this.#write(bytes);
    let isAnswered = false;
    const start = `{"jsonrpc":"2.0","id":"${id}"`;
    const answered = this.#program.until(() => {
      isAnswered ||= this.#program.lines.some((line) => line.startsWith(start));
      this.#take();
      return isAnswered;
    });
    const late = new AbortController();
    const patience = sleep(PATIENCE, "late", { signal: late.signal });
    patience.catch(() => {});
    const outcome = await Promise.race([answered, patience]);
    late.abort();
    assert.notEqual(outcome, "late", `${id} has no answer. ${this.#program.stderr.slice(-2000)}`);
  }

  async #exit(): Promise<unknown> {
    const late = new AbortController();
    const patience = sleep(PATIENCE, "did not end", { signal: late.signal });
    patience.catch(() => {});
    const code = await Promise.race([this.#program.exit, patience]);
    late.abort();
    if (code === "did not end") this.#program.child.kill("SIGKILL");
    return code;
  }

  /** Takes what the program has said, and answers what it asks: rightly, wrongly, or never. */
  #take(): void {
    const { random } = this.#options;
    // Much is told of so many errors; the last of it will do.
    this.#program.stderr = this.#program.stderr.slice(-10_000);
    for (const line of this.#program.lines.splice(0)) {
      const asked = this.#ledger.came(line);
      if (asked?.id === undefined || random.once(4)) continue;
      const id = JSON.stringify(asked.id);
      const answer = random.pick([
        `"result":{}`,
        `"error":{"code":-1,"message":"no"}`,
        `"result":5`,
      ]);
      if (!this.#program.child.stdin.writableEnded) {
        this.#program.write(`{"jsonrpc":"2.0","id":${id},${answer}}`);
      }
    }
  }
}
