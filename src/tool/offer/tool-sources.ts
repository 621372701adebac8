import type { StopListener } from "../../base/stop.ts";
import type { ToolContext } from "../tool.ts";

/** Somebody who may have tools, of whom that is not known. */
export interface MissingSource {
  readonly name: string;
  /** Why it is not known, in a sentence that says who it is. */
  readonly why: string;
}

/** Those who bring tools and have to be asked for them first, such as other servers. */
export interface ToolSources {
  /**
   * To be awaited before a list is answered. Waits a bounded time; undefined when there is nothing to
   * wait for.
   */
  known(): Promise<void> | undefined;
  /**
   * Resolves when one more has said what it has, or has failed to; undefined when there is none of
   * which that can be expected.
   */
  arrival?(): Promise<void> | undefined;
  /** Who has not said what it has. */
  missing?(): readonly MissingSource[];
}

/**
 * The member of a list's `_meta` that says why the list is not complete: a sentence for each server
 * that is missing. When one comes, the client is told that the list has changed.
 */
export const MISSING_META = "trunkline/missing";

/** Milliseconds between two words to a caller who waits. */
const TELL_EVERY = 1_000;
/** Less than the first step of any tool: progress must not go back when the tool tells its own. */
const STEP = 1 / 1_000_000;

/** Waits for a tool until it is there, the caller gives up, or nobody is left who may bring it. */
export async function awaitTool(
  isThere: () => boolean,
  sources: Required<Pick<ToolSources, "arrival" | "missing">>,
  context: Pick<ToolContext, "stop" | "progress">,
): Promise<void> {
  const stopped = Promise.withResolvers<"stopped">();
  const listener: StopListener = { stopped: () => stopped.resolve("stopped") };
  let told = 0;
  const telling = setInterval(() => {
    const missing = sources.missing().map(({ why }) => why);
    context.progress(++told * STEP, undefined, missing.join(". "));
  }, TELL_EVERY);
  context.stop.add(listener);
  try {
    while (!isThere()) {
      const arrival = sources.arrival();
      if (arrival === undefined) return;
      if ((await Promise.race([stopped.promise, arrival])) === "stopped") return;
    }
  } finally {
    clearInterval(telling);
    context.stop.remove(listener);
  }
}
