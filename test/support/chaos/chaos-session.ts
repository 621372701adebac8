import type { SeededRandom } from "../seeded-random.ts";
import { ChaosClient, type Surroundings } from "./chaos-client.ts";
import type { Turn } from "./shown.ts";

/** Milliseconds. */
const PROMPT_WITHIN = 240_000;
/** Milliseconds between two numbers that an agent says: at least, and how much more. */
const PACE = [100, 200] as const;

/** A client with one session that prompts again and again. */
export class ChaosSession implements Disposable {
  readonly name: string;
  readonly turns: Turn[] = [];
  readonly client: ChaosClient;
  readonly #around: Surroundings;
  readonly #random: SeededRandom;

  constructor(name: string, around: Surroundings, random: SeededRandom) {
    this.name = name;
    this.client = new ChaosClient(around, random);
    this.#around = around;
    this.#random = random;
  }

  get id(): string {
    return this.client.id;
  }

  /** Prompts until it is told to stop, and then until one more turn has finished. */
  async work(isOver: () => boolean): Promise<void> {
    await this.client.begin({ cwd: this.#around.cwd, mcpServers: [] });
    while (!isOver()) await this.#turn(10 + this.#random.below(80));
    while ((await this.#turn(3)) !== "finished");
  }

  [Symbol.dispose](): void {
    this.client[Symbol.dispose]();
  }

  async #turn(count: number): Promise<Turn["end"]> {
    const line = await this.client.joined();
    const turn: Turn = { tag: `${this.name}t${this.turns.length}`, count };
    const pace = PACE[0] + this.#random.below(PACE[1]);
    const leaves = this.#random.once(6) ? this.#random.below(5_000) : undefined;
    using _watch = this.client.leaveLater(line, leaves);
    const answer = await this.client.prompt(
      line,
      `pace ${turn.tag} ${count} ${pace}`,
      PROMPT_WITHIN,
    );
    turn.isAnswered = answer !== undefined;
    turn.end = "unknown";
    if (answer?.result !== undefined) {
      const { stopReason } = answer.result;
      if (stopReason !== "end_turn") throw new Error(`${turn.tag} stopped: ${stopReason}`);
      turn.end = "finished";
    } else if (answer?.error.data?.interrupted === true) turn.end = "interrupted";
    this.turns.push(turn);
    return turn.end;
  }
}
