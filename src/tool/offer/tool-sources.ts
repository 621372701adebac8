import { onAbort } from "../../base/abort.ts";
import type { Principal } from "../../base/principal.ts";
import type { Profile } from "../profile/profile.ts";
import type { ToolContext } from "../tool.ts";

/** A source of tools that has not listed them yet. */
export interface MissingSource {
  readonly name: string;
  /** Why its tools are unknown, in a sentence that names the source. */
  readonly why: string;
}

/** Sources of tools that have to be asked for them first, such as upstreams. */
export interface ToolSources {
  /** Opens the sources that belong to one principal; undefined if they are open. Lists may come later. */
  opened?(principal: Principal): Promise<unknown> | undefined;
  /**
   * Await it before answering a list of a principal. The wait is bounded; undefined when there is nothing
   * to wait for.
   */
  known(principal?: Principal): Promise<void> | undefined;
  /**
   * Resolves when the next source has listed its tools, or has failed to; undefined when no source is
   * still coming.
   */
  arrival?(principal?: Principal): Promise<void> | undefined;
  /** The sources whose tools are not known, as far as a profile shows them. */
  missing?(profile?: Profile, principal?: Principal): readonly MissingSource[];
}

/**
 * The member of a list's `_meta` that says why the list is not complete: a sentence for each server
 * that is missing. When one comes, the client is told that the list has changed.
 */
export const MISSING_META = "trunkline/missing";

/** Milliseconds between two progress notifications to a caller that waits. */
const TELL_EVERY = 1_000;
/** Tiny, because progress must increase (MCP, basic/utilities/progress) when the tool reports its own. */
const STEP = 1 / 1_000_000;

/** The part of a context that waiting for a tool needs. */
export type WaitingCaller = Pick<ToolContext, "caller" | "signal" | "progress" | "profile">;

/** Waits for a tool until it is known, the caller gives up, or no source is left that may have it. */
export async function awaitTool(
  isThere: () => boolean,
  sources: Required<Pick<ToolSources, "arrival" | "missing">>,
  context: WaitingCaller,
): Promise<void> {
  const stopped = Promise.withResolvers<"stopped">();
  let told = 0;
  using ends = new DisposableStack();
  const tell = (): void => {
    const missing = sources
      .missing(context.profile, context.caller.principal)
      .map(({ why }) => why);
    context.progress(++told * STEP, undefined, missing.join(". "));
  };
  ends.use(setInterval(tell, TELL_EVERY));
  ends.defer(onAbort(context.signal, () => stopped.resolve("stopped")));
  while (!isThere()) {
    const arrival = sources.arrival(context.caller.principal);
    if (arrival === undefined) return;
    if ((await Promise.race([stopped.promise, arrival])) === "stopped") return;
  }
}
