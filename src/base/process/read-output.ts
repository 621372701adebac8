import { onAbort } from "../abort.ts";
import type { ChildExit, OwnedChild } from "./child-process.ts";
import { closeStreams } from "./close-streams.ts";

/**
 * Passes on the output of a child until it has exited and nothing is left that it started. On an abort
 * the child is killed with all of that, and this rejects with the reason.
 */
export async function readOutput(
  child: OwnedChild,
  heard: (text: string) => void,
  signal?: AbortSignal,
): Promise<ChildExit> {
  const ended = Promise.withResolvers<void>();
  child.stdout.setEncoding("utf8").on("data", heard);
  child.stdout.on("close", ended.resolve).on("error", () => ended.resolve());
  const stopListening = onAbort(signal, () => child.kill());
  using ends = new DisposableStack();
  ends.defer(stopListening);
  const exit = await child.exit;
  const callOff = closeStreams(child.stdout);
  await ended.promise;
  callOff();
  await child.gone;
  signal?.throwIfAborted();
  return exit;
}
