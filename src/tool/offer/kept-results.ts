import { randomUUID } from "node:crypto";

import type { KeptText, ResourceProvider, ResourceResult, ToolContext } from "../tool.ts";

interface KeptResult {
  /** The principal that made the call. */
  readonly by: string;
  readonly text: string;
  readonly mimeType: string;
  /** By `performance.now()`. */
  readonly until: number;
}

const PREFIX = "trunkline://result/";

export interface KeptLimits {
  /** Characters of all that is kept, and of one text. */
  readonly all: number;
  readonly one: number;
  /** Milliseconds. */
  readonly time: number;
}

const LIMITS: KeptLimits = { all: 64 * 1024 * 1024, one: 16 * 1024 * 1024, time: 3_600_000 };

/**
 * Results that are too large to be passed on, kept in memory for a limited time. Only the caller can read
 * them. The oldest are dropped to make room for new ones.
 */
export class KeptResults implements ResourceProvider {
  readonly isCallers = true;
  readonly #limits: KeptLimits;
  readonly #kept = new Map<string, KeptResult>();
  #size = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: KeptLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Undefined for a text that is too large. */
  keep(
    { text, mimeType }: Pick<KeptResult, "text" | "mimeType">,
    { caller }: Pick<ToolContext, "caller">,
  ): KeptText | undefined {
    const { all, one, time } = this.#limits;
    if (text.length > one) return undefined;
    const uri = PREFIX + randomUUID();
    this.#kept.set(uri, {
      by: caller.principal.id,
      text,
      mimeType,
      until: performance.now() + time,
    });
    this.#size += text.length;
    this.#expire(all);
    return { uri, until: new Date(Date.now() + time).toISOString() };
  }

  /** Not listed: only the caller is told the address. */
  list(): [] {
    return [];
  }

  async read(uri: string, { caller }: ToolContext): Promise<ResourceResult | undefined> {
    this.#expire();
    const kept = this.#kept.get(uri);
    if (kept === undefined || kept.by !== caller.principal.id) return undefined;
    return { contents: [{ uri, mimeType: kept.mimeType, text: kept.text }] };
  }

  /** Drops what is too old, and the oldest while there is more than there may be. */
  #expire(most = Infinity): void {
    const now = performance.now();
    for (const [uri, { until, text }] of this.#kept) {
      if (until > now && this.#size <= most) break;
      this.#size -= text.length;
      this.#kept.delete(uri);
    }
    clearTimeout(this.#timer);
    const [next] = this.#kept.values();
    this.#timer = next && setTimeout(() => this.#expire(), next.until - now + 1).unref();
  }
}
