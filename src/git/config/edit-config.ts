import { isDeepStrictEqual } from "node:util";

import { TrunklineError } from "../../base/errors.ts";
import { canonicalKey, type ConfigValue, parseConfigList } from "./config-list.ts";
import { ConfigText } from "./config-text.ts";
import type { Git } from "../git.ts";

/** The values that a key should have in one file. */
export interface ConfigEdit {
  readonly key: string;
  /** All its values in that file; an empty list removes the key. */
  readonly values: readonly string[];
  /** Writes the key at the end of the file, so that it overrides included files. */
  readonly atEnd?: boolean;
}

/**
 * Changes some keys of a configuration file and keeps every other byte. `git config` would take one
 * process for each key; `checkEdited` has git read the result once.
 */
export function editConfig(bytes: Buffer, edits: readonly ConfigEdit[]): Buffer {
  let text = ConfigText.of(bytes);
  for (const edit of edits) {
    text = setValues(text, toBytes(edit.key), edit.values.map(toBytes), edit.atEnd);
    const values = text.values(toBytes(canonicalKey(edit.key)));
    if (!isDeepStrictEqual(values, edit.values.map(toBytes))) {
      throw new TrunklineError(
        "config",
        `Cannot set '${edit.key}': the edited file would not have that value`,
      );
    }
  }
  return Buffer.from(text.text, "latin1");
}

/** The values of one key in a file. */
export function valuesIn(bytes: Buffer, key: string): string[] {
  return ConfigText.of(bytes)
    .values(canonicalKey(key))
    .map((value) => fromBytes(value ?? "true"));
}

/** Gives a key these values. Key and values are decoded as Latin-1, as the text is. */
export function setValues(
  given: ConfigText,
  key: string,
  wanted: readonly string[],
  atEnd?: boolean,
): ConfigText {
  const name = canonicalKey(key);
  let text = given;
  const find = (): ConfigText["items"] => text.items.filter((item) => item.key === name);
  const keep = atEnd === true ? 0 : wanted.length;
  while (find().length > keep) text = withoutItem(text, find()[0]);
  for (const [at, item] of find().entries()) {
    if (item.value === wanted[at]) continue;
    const now = find()[at];
    if (now === undefined) continue;
    const spelled = text.text.slice(now.start, now.keyEnd);
    text = text.splice(now.start, now.end, `${spelled} = ${quote(wanted[at] ?? "")}`);
  }
  for (const value of wanted.slice(find().length))
    text = withItem(text, key, value, atEnd === true);
  return text;
}

function withoutItem(text: ConfigText, item: ConfigText["items"][number] | undefined): ConfigText {
  if (item === undefined) return text;
  const start = text.lineStart(item.start);
  const isAlone = /^[ \t\r]*$/.test(text.text.slice(start, item.start));
  return isAlone
    ? text.splice(start, text.nextLine(item.end), "")
    : text.splice(item.start, item.end, "");
}

function withItem(text: ConfigText, key: string, value: string, atEnd: boolean): ConfigText {
  const eol = /^[^\n]*\r\n/.test(text.text) ? "\r\n" : "\n";
  const dot = key.lastIndexOf(".");
  const name = canonicalKey(key).slice(0, dot);
  const line = `\t${key.slice(dot + 1)} = ${quote(value)}${eol}`;
  const sections = text.sections.filter((section) => section.name === name);
  const last = sections.at(-1);
  if (last !== undefined && (!atEnd || last === text.sections.at(-1)) && isOpenTo(text, last)) {
    const at = text.nextLine(last.lastLine);
    const isOpen = at > 0 && text.text.charAt(at - 1) !== "\n";
    return text.splice(at, at, (isOpen ? eol : "") + line);
  }
  const end = text.text.length;
  const isOpen = end > 0 && !text.text.endsWith("\n") && text.text !== "\u00ef\u00bb\u00bf";
  return text.splice(end, end, `${isOpen ? eol : ""}${header(name)}${eol}${line}`);
}

/** Another section may begin on the line that ends this one. */
function isOpenTo(text: ConfigText, { lastLine }: ConfigText["sections"][number]): boolean {
  return /^[ \t\r]*(?:[#;].*)?\r?\n?$/.test(text.text.slice(lastLine, text.nextLine(lastLine)));
}

function header(name: string): string {
  const dot = name.indexOf(".");
  if (dot < 0) return `[${name}]`;
  return `[${name.slice(0, dot)} "${name.slice(dot + 1).replaceAll(/["\\]/g, "\\$&")}"]`;
}

/** A value as git writes it. */
function quote(value: string): string {
  const escaped = value
    .replaceAll(/["\\]/g, "\\$&")
    .replaceAll("\n", "\\n")
    .replaceAll("\t", "\\t")
    .replaceAll("\b", "\\b");
  return /^ | $|[#;\r]/.test(value) ? `"${escaped}"` : escaped;
}

function toBytes(text: string): string {
  if (text.includes("\0")) {
    throw new TrunklineError(
      "usage",
      "Cannot write a value that holds a NUL to git's configuration",
    );
  }
  return Buffer.from(text, "utf8").toString("latin1");
}

function fromBytes(text: string): string {
  return Buffer.from(text, "latin1").toString("utf8");
}

/** Throws unless git reads the edited file exactly as we do. */
export async function checkEdited(git: Git, path: string, bytes: Buffer): Promise<void> {
  const { stdout } = await git.run(["config", "--file", "-", "--no-includes", "-z", "--list"], {
    input: bytes,
  });
  const theirs = parseConfigList(stdout.toString("latin1")).map(comparable);
  const ours = ConfigText.of(bytes).items.map(comparable);
  const different = theirs.findIndex((value, at) => value !== ours[at]);
  if (theirs.length === ours.length && different < 0) return;
  const why = "git reads the edited file differently than Trunkline does";
  throw new TrunklineError("config", `Cannot change '${path}': ${why}. The file was not changed`);
}

/** Git before 2.45 turned every kind of space in a value into a plain space. */
function comparable({ key, value }: ConfigValue): string {
  return `${key}\n${value === undefined ? "" : `=${value.replaceAll(/[\t\r ]/g, " ")}`}`;
}
