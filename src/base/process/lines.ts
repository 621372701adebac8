import type { Readable } from "node:stream";

import { FULL_READ } from "../event-loop.ts";

/** Characters of a line; the rest is cut. */
export const LONGEST_LINE = 4_096;

/** Calls back with each line of a stream that is not empty. Long lines are cut. */
export function readLines(
  stream: Readable,
  tell: (line: string) => void,
  longest = LONGEST_LINE,
): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = (lines.pop() ?? "").slice(0, longest);
    for (const line of lines) if (line !== "") tell(line.slice(0, longest).trimEnd());
    if (Buffer.byteLength(text) < FULL_READ) return;
    stream.pause();
    setImmediate(() => stream.resume());
  });
  stream.on("end", () => {
    if (rest !== "") tell(rest);
  });
  stream.on("error", () => {});
}
