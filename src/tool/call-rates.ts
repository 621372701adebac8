import { RateLimiter } from "../base/limit/rate-limiter.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** Counts the calls of tools: by the limits of the tool itself, and by those of the caller's profile. */
export class CallRates {
  readonly #ofTools = new WeakMap<Tool, RateLimiter>();

  /** Counts one call. Milliseconds until it may be made, 0 where it may be now. */
  take(tool: Tool, { caller, profile }: Pick<ToolContext, "caller" | "profile">): number {
    const { rate } = tool.limits ?? {};
    const ofProfile = profile?.wait(tool.definition.name, caller) ?? 0;
    if (rate === undefined || ofProfile > 0) return ofProfile;
    let limiter = this.#ofTools.get(tool);
    if (limiter === undefined) this.#ofTools.set(tool, (limiter = new RateLimiter(rate)));
    return limiter.take(`${caller.principal.id} ${caller.client}`);
  }
}
