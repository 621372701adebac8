import type { RpcError } from "../../../rpc/rpc-error.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import { isObject } from "../json-object.ts";

/** Pages that are remembered at once; more make the oldest be forgotten. */
const MOST = 1_000;
const LIFETIME = 60 * 60_000;

interface Shown {
  readonly context: ToolContext;
  readonly forgetAt: number;
}

/**
 * Pages that a server of 2025-11-25 had people visit, and whose they are, until it says that they are
 * done with. That may be long after the call that they were needed for.
 */
export class ClientPages {
  readonly #shown = new Map<string, Shown>();

  shown(id: unknown, context: ToolContext): void {
    if (typeof id !== "string" || context.pageDone === undefined) return;
    const now = performance.now();
    for (const [old, { forgetAt }] of this.#shown) {
      if (forgetAt > now && this.#shown.size < MOST) break;
      this.#shown.delete(old);
    }
    // Last again, so that the oldest stay first.
    this.#shown.delete(id);
    this.#shown.set(id, { context, forgetAt: now + LIFETIME });
  }

  /** The caller was refused until somebody has visited these pages. */
  required(error: RpcError, context: ToolContext): void {
    const pages = isObject(error.data) ? error.data.elicitations : undefined;
    if (!Array.isArray(pages)) return;
    for (const page of pages.filter(isObject)) this.shown(page.elicitationId, context);
  }

  /** Whoever was shown the page is told, once. Ids that nobody knows are ignored. */
  done(id: unknown): void {
    const shown = this.#shown.get(id as string);
    if (shown === undefined) return;
    this.#shown.delete(id as string);
    shown.context.pageDone?.(id as string);
  }
}
