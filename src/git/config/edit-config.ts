import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { TrunklineError } from "../../base/errors.ts";
import type { Git } from "../git.ts";
import { canonicalKey, type ConfigValue, parseConfigList, setConfig } from "./git-config.ts";

/** The values that a key should have in one file. */
export interface ConfigEdit {
  readonly key: string;
  /** All its values in that file; an empty list removes the key. */
  readonly values: readonly string[];
  /** Writes the key at the end of the file, so that it overrides included files. */
  readonly atEnd?: boolean;
}

/** The content of a configuration file with some keys changed. Comments and other keys stay. */
export async function editConfig(
  git: Git,
  bytes: Buffer,
  edits: readonly ConfigEdit[],
): Promise<Buffer> {
  const encoded = edits.map((edit) => {
    return { ...edit, key: toBytes(edit.key), values: edit.values.map(toBytes) };
  });
  return await editBytes(git, bytes, await readConfigBytes(git, bytes), encoded);
}

/** Reads a file's content and returns a function that finds the values of a key in it. */
export async function readValues(git: Git, bytes: Buffer): Promise<(key: string) => string[]> {
  const entries = await readConfigBytes(git, bytes);
  return (key) => {
    return valuesOf(entries, toBytes(canonicalKey(key))).map((value) => fromBytes(value ?? "true"));
  };
}

/**
 * What git reads in a file's content, without included files. Decoded as Latin-1: one character is
 * one byte, so values in any encoding survive.
 */
export async function readConfigBytes(git: Git, bytes: Buffer): Promise<ConfigValue[]> {
  if (bytes.length === 0) return [];
  const args = ["config", "--file", "-", "--no-includes", "-z", "--list"];
  return parseConfigList((await git.run(args, { input: bytes })).stdout.toString("latin1"));
}

function valuesOf(entries: readonly ConfigValue[], key: string): (string | undefined)[] {
  return entries.filter((entry) => entry.key === key).map(({ value }) => value);
}

const BOM = Buffer.from("\uFEFF");

/**
 * Git edits a copy in which each byte of the file is one character: arguments are UTF-8, but a file
 * may have any encoding.
 */
async function editBytes(
  git: Git,
  bytes: Buffer,
  now: readonly ConfigValue[],
  all: readonly ConfigEdit[],
): Promise<Buffer> {
  const isThere = (key: string, values: readonly string[]): boolean =>
    isDeepStrictEqual(valuesOf(now, canonicalKey(key)), values);
  const edits = all.filter(({ key, values, atEnd = false }) => atEnd || !isThere(key, values));
  if (edits.length === 0) return bytes;
  const start = bytes.indexOf(BOM) === 0 ? BOM.length : 0;
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-config-"));
  const [copy, end] = [join(folder.path, "config"), join(folder.path, "end")];
  await writeFile(copy, bytes.subarray(start).toString("latin1"), { mode: 0o600 });
  await writeFile(end, "", { mode: 0o600 });
  for (const { key, values, atEnd = false } of edits) {
    if (!atEnd || !isThere(key, [])) await setConfig(git, { path: copy }, key, atEnd ? [] : values);
    if (atEnd) await setConfig(git, { path: end }, key, values);
  }
  const [text, added] = [await readFile(copy, "utf8"), await readFile(end, "utf8")];
  const isOpen = added !== "" && text !== "" && !text.endsWith("\n");
  const edited = Buffer.from(text + (isOpen ? "\n" : "") + added, "latin1");
  return Buffer.concat([bytes.subarray(0, start), edited]);
}

function toBytes(text: string): string {
  if (text.includes("\0")) {
    const says = "Cannot write a value that holds a NUL to git's configuration";
    throw new TrunklineError("usage", says);
  }
  return Buffer.from(text, "utf8").toString("latin1");
}

function fromBytes(text: string): string {
  return Buffer.from(text, "latin1").toString("utf8");
}

export interface RestoreOptions {
  /** Keys to leave as they are, as `canonicalKey` spells them. */
  readonly except?: ReadonlySet<string>;
  /** Restores also keys that somebody has changed since. */
  readonly force?: boolean;
}

interface RestoredConfig {
  readonly bytes: Buffer;
  /** Keys that were changed since, and therefore not restored. */
  readonly changedSince: readonly string[];
}

/** Undoes a change of a configuration file, key by key: what else was written since stays. */
export async function restoreKeys(
  git: Git,
  now: Buffer,
  before: Buffer,
  after: Buffer,
  { except = new Set(), force = false }: RestoreOptions = {},
): Promise<RestoredConfig> {
  const old = await readConfigBytes(git, before);
  const made = await readConfigBytes(git, after);
  const current = await readConfigBytes(git, now);
  const edits: ConfigEdit[] = [];
  const changedSince: string[] = [];
  for (const key of new Set([...old, ...made].map((entry) => entry.key))) {
    const [wanted, values] = [valuesOf(old, key), valuesOf(current, key)];
    const isOurs = !isDeepStrictEqual(wanted, valuesOf(made, key));
    if (!isOurs || except.has(key) || isDeepStrictEqual(wanted, values)) continue;
    if (!force && !isDeepStrictEqual(values, valuesOf(made, key))) {
      changedSince.push(fromBytes(key));
      continue;
    }
    edits.push({ key: spelled(key, before), values: wanted.map((value) => value ?? "true") });
  }
  return { bytes: await editBytes(git, now, current, edits), changedSince };
}

/** The key with its name in the letters of the old file, such as `sshCommand`. */
function spelled(key: string, before: Buffer): string {
  const dot = key.lastIndexOf(".") + 1;
  const name = new RegExp(String.raw`^[ \t]*(${key.slice(dot)})[ \t]*(?:=|\r?$)`, "im");
  return key.slice(0, dot) + (name.exec(before.toString("latin1"))?.[1] ?? key.slice(dot));
}
