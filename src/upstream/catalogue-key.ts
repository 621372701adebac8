import { sep } from "node:path";

import type { UpstreamSettings } from "./settings.ts";

/** The file with the remembered catalogue of the upstream of that name. */
export function cataloguePath(folder: string, name: string): string {
  // Not with join(): a start that knows ten servers would spend half a millisecond in it.
  return `${folder}${sep}${encodeURIComponent(name.toWellFormed())}.json`;
}

/**
 * Identifies the program or address of a server. Variables and headers do not count. The result is a hash,
 * because even these settings may contain secrets.
 */
export function sourceOf(settings: UpstreamSettings): readonly unknown[] {
  if ("command" in settings) return [settings.command, settings.args ?? [], settings.cwd ?? ""];
  if (!("openapi" in settings)) return [settings.url];
  const { openapi, url, include, exclude } = settings;
  return [openapi, url ?? "", include ?? [], exclude ?? []];
}

/**
 * A 64-bit hash. It is not safe against deliberate collisions, but both texts would be the person's own
 * settings. Loading `node:crypto` would cost every start 8 ms.
 */
export function hashOf(text: string): string {
  let high = text.length;
  let low = 0x41c6ce57;
  const bytes = Buffer.alloc(Buffer.byteLength(text) + 3);
  bytes.write(text);
  // Four bytes at once: the loop takes longer than all that is around it.
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? 0;
    high = Math.imul(high ^ word, 0x9e3779b1);
    low = Math.imul(low ^ (low >>> 15) ^ word, 0x5f356495);
  }
  return hex(mixed(high, low)) + hex(mixed(low, high));
}

function mixed(one: number, other: number): number {
  return Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35);
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, "0");
}
