import type { HttpMessage } from "./http-pending.ts";

/** Requests of a server without an answer, by their ids: the progress tokens of our requests that they came with. */
export class RequestOrigins {
  readonly #tokens = new Map<string, unknown>();

  add(id: unknown, token: unknown): void {
    this.#tokens.set(JSON.stringify(id), token);
  }

  /** The token is asked for once. */
  take(idText: string): unknown {
    const token = this.#tokens.get(idText);
    this.#tokens.delete(idText);
    return token;
  }

  /** Most requests, such as `ping`, are answered without anybody asking. Several have one answer in 2025-03-26. */
  answered(answer: HttpMessage | readonly HttpMessage[]): void {
    for (const { id } of [answer].flat()) this.#tokens.delete(JSON.stringify(id));
  }

  clear(): void {
    this.#tokens.clear();
  }
}
