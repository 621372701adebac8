import { TrunklineError } from "../base/errors.ts";
import type { Around } from "../protocol/mcp/connect/requests.ts";
import type { McpClient } from "../protocol/mcp/connect/connect.ts";
import { LostRequest } from "../rpc/pending-requests.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import { ToolFault } from "../tool/tool.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { isLost } from "./connect-upstream.ts";

/** How often a call is retried that does not reach the server. */
const MOST_ATTEMPTS = 3;

/**
 * The attempts at one call. A call whose answer was lost is repeated only if that does no harm: the
 * call is idempotent (`isHarmless`), or it never reached the server. One object for each call, since
 * thousands may be in flight.
 */
export class Attempts<T> implements Around<T> {
  readonly #name: string;
  readonly #life: Lifecycle;
  readonly #call: (client: McpClient) => Promise<T>;
  readonly #isHarmless: boolean;
  #count = 1;

  constructor(
    name: string,
    life: Lifecycle,
    call: (client: McpClient) => Promise<T>,
    isHarmless: boolean,
  ) {
    this.#name = name;
    this.#life = life;
    this.#call = call;
    this.#isHarmless = isHarmless;
  }

  answered(): void {
    this.#life.backoff.succeeded();
  }

  async failed(error: unknown): Promise<T> {
    if (!isLost(error)) throw this.#answeredWith(error);
    const isUnsent = error instanceof LostRequest && error.isUnsent;
    const mayRepeat = isUnsent
      ? this.#count < MOST_ATTEMPTS
      : this.#isHarmless && this.#count === 1;
    if (!mayRepeat) throw await this.#lost(error);
    this.#count++;
    const client = await this.#life.restarted();
    return this.#call(client).catch((again: unknown) => this.failed(again));
  }

  /** An error response shows that the server works; the caller gets it with its code and data. */
  #answeredWith(error: unknown): unknown {
    if (!(error instanceof RpcError)) return error;
    this.#life.backoff.succeeded();
    return new ToolFault(error.code, error.message, error.data);
  }

  async #lost(error: unknown): Promise<TrunklineError> {
    const times = this.#count > 1 ? `, ${this.#count} times` : "";
    if (!(error instanceof LostRequest)) {
      await this.#life.explained();
      return this.#life.down(`ended before it had answered${times}`);
    }
    const known = error.isUnsent
      ? "It was not called."
      : "Nobody knows whether it has done what it was called for.";
    const message = `MCP server '${this.#name}' ${error.message}${times}. ${known}`;
    return new TrunklineError("unavailable", message);
  }
}
