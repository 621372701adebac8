import type { Readable } from "node:stream";

/** Calls `line` with each line of a stream. */
export function readLines(readable: Readable, line: (text: string) => void): void {
  let rest = "";
  readable.setEncoding("utf8");
  readable.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) line(text);
  });
}
