import type { RpcError } from "../../../rpc/rpc-error.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import { isObject } from "../../../base/check.ts";

/** Pages that are remembered at once; beyond that, the oldest is dropped. */
const MOST = 1_000;
const LIFETIME = 60 * 60_000;

interface ShownPage {
  readonly context: ToolContext;
  readonly forgetAt: number;
}

/**
 * Pages that a server of 2025-11-25 asked callers to show, by their ids, until
 * `notifications/elicitation/complete` (MCP 2025-11-25, client/elicitation). That may come long after
 * the call.
 */
export class ClientPages {
  readonly #shown = new Map<string, ShownPage>();

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

  /** Tells the caller that was shown the page, once. Unknown ids are ignored, as the section asks. */
  done(id: unknown): void {
    const shown = this.#shown.get(id as string);
    if (shown === undefined) return;
    this.#shown.delete(id as string);
    shown.context.pageDone?.(id as string);
  }
}
