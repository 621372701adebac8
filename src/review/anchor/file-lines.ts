import { sha1 } from "./sha1.ts";

/** Bytes beyond which Node's own SHA-1 is faster, with the time that it takes to load. */
let small = 32 * 1024;

/** The id that git has for a file of this content. */
export function blobId(content: Uint8Array): string {
  const whole = Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]);
  small -= whole.length;
  if (small >= 0) return sha1(whole);
  return process.getBuiltinModule("node:crypto").hash("sha1", whole);
}

/** The lines of a text, without what ends them. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

export function textOf(content: Uint8Array): string {
  return new TextDecoder().decode(content);
}

/** Git takes for binary what has a NUL near its beginning. */
export function isBinary(content: Uint8Array): boolean {
  return content.subarray(0, 8000).includes(0);
}
