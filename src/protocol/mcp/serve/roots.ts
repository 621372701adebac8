import { fileURLToPath } from "node:url";

import { attempt } from "../../../base/attempt.ts";
import type { Question } from "../../../tool/tool.ts";
import { isObject } from "../../../base/check.ts";

/** Asks a client which folders it works in (MCP 2025-11-25, client/roots § Listing Roots). */
export const ROOTS_QUESTION: Question = { key: "trunkline/roots", method: "roots/list" };

/** The most roots of one client that are resolved. */
const MOST = 100;
/** Milliseconds for which a client that did not answer is not asked again. */
const SILENCE = 60_000;
/** After this many answers that a change has overtaken, the last one is taken. */
const MOST_ROUNDS = 3;

/**
 * The folders of an answer to `roots/list`, absolute. Undefined where it is no such answer. Roots
 * that are not on this machine's file system are left out.
 */
export function foldersOf(answer: unknown): string[] | undefined {
  const roots = isObject(answer) ? answer.roots : undefined;
  if (!Array.isArray(roots)) return undefined;
  return roots.slice(0, MOST).flatMap((root: unknown) => {
    const uri = isObject(root) ? root.uri : undefined;
    // MCP 2025-11-25, client/roots § Root: a root is a file:// URI.
    if (typeof uri !== "string" || !uri.startsWith("file:")) return [];
    // Such as file://another-host/folder.
    return attempt(() => [fileURLToPath(uri)], []);
  });
}

/**
 * The roots of one session. They are asked for when they are first needed, and again after the
 * client has said that they changed.
 */
export class SessionRoots {
  #known: readonly string[] | undefined;
  #asking: Promise<unknown> | undefined;
  #silentUntil = 0;
  #changes = 0;

  /** The client's roots have changed. */
  changed(): void {
    this.#known = undefined;
    this.#silentUntil = 0;
    this.#changes++;
  }

  /** The roots of the client; undefined if it does not answer. Concurrent calls share one request. */
  async get(ask: () => Promise<unknown>): Promise<readonly string[] | undefined> {
    for (let round = 1; this.#known === undefined; round++) {
      if (performance.now() < this.#silentUntil) return undefined;
      const changes = this.#changes;
      this.#asking ??= ask().finally(() => (this.#asking = undefined));
      const found = foldersOf(await this.#asking.catch(() => undefined));
      if (changes !== this.#changes && round < MOST_ROUNDS) continue;
      if (found === undefined) this.#silentUntil = performance.now() + SILENCE;
      else this.#known = found;
    }
    return this.#known;
  }
}
