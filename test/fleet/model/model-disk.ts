import type { Replicas } from "../../../src/fleet/store/worker-store.ts";

type Page = Parameters<Replicas["replace"]>[2][number];

/** The data folder of a worker: its log of the session. It stays when the worker crashes. */
export class ModelDisk implements Replicas {
  readonly node: string;
  #mark: Awaited<ReturnType<Replicas["mark"]>>;
  #lines: (string | undefined)[] = [];

  constructor(node: string) {
    this.node = node;
  }

  /** The events, in their order; undefined for the first ones where only later ones were read. */
  get lines(): readonly (string | undefined)[] {
    return this.#lines;
  }

  append(line: string): number {
    return this.#lines.push(line);
  }

  async mark(): ReturnType<Replicas["mark"]> {
    return this.#mark;
  }

  async setMark(
    _session: number,
    { epoch, sequence }: Parameters<Replicas["setMark"]>[1],
  ): Promise<void> {
    this.#mark = { epoch, sequence };
  }

  async last(): Promise<number> {
    return this.#lines.length;
  }

  async replace(
    session: number,
    last: number,
    pages: readonly Page[],
    mark?: Parameters<Replicas["setMark"]>[1],
  ): Promise<void> {
    this.#lines.length = Math.min(this.#lines.length, last);
    if (this.#lines.at(-1) === undefined) this.#lines = [];
    for (const { first, lines } of pages) {
      if (this.#lines.length === 0) this.#lines = Array.from({ length: first - 1 });
      if (first !== this.#lines.length + 1) throw new Error(`A gap before event ${first}`);
      this.#lines.push(...lines.split("\n").slice(0, -1));
    }
    if (mark !== undefined) await this.setMark(session, mark);
  }

  async *after(session: number, after: number): AsyncGenerator<Page> {
    for (let at = after; at < this.#lines.length; at++) {
      yield { session, first: at + 1, last: at + 1, lines: `${this.#lines[at]}\n` };
    }
  }
}
