import { isDeepStrictEqual } from "node:util";

import { TrunklineError } from "../../base/errors.ts";
import type { Git } from "../git.ts";
import { canonicalKey, type ConfigValue, parseConfigList } from "./git-config.ts";

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
function setValues(
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

/** A value of a configuration file, and its position in the text. */
interface Item extends ConfigValue {
  /** Index of the first letter of the key. */
  readonly start: number;
  readonly keyEnd: number;
  /** Index of the end of its last line, without the line end. */
  readonly end: number;
}

interface Section {
  /** `remote.origin` */
  readonly name: string;
  /** Index of the end of the line after which a new key is inserted. */
  lastLine: number;
}

/**
 * The text of a git configuration file, decoded as Latin-1: one character is one byte, so bytes
 * that are not edited stay as they are in any encoding. The syntax is that of git's config.c.
 */
export class ConfigText {
  readonly items: readonly Item[];
  readonly sections: readonly Section[];
  readonly #text: string;

  constructor(text: string) {
    const reader = new Reader(text);
    reader.read();
    this.#text = text;
    this.items = reader.items;
    this.sections = reader.sections;
  }

  static of(bytes: Buffer): ConfigText {
    return new ConfigText(bytes.toString("latin1"));
  }

  get text(): string {
    return this.#text;
  }

  values(key: string): (string | undefined)[] {
    return this.items.filter((item) => item.key === key).map(({ value }) => value);
  }

  /** A copy with the text between two indexes replaced. */
  splice(start: number, end: number, words: string): ConfigText {
    return new ConfigText(this.#text.slice(0, start) + words + this.#text.slice(end));
  }

  lineStart(at: number): number {
    return this.#text.lastIndexOf("\n", at - 1) + 1;
  }

  /** Where the line after this one begins. */
  nextLine(at: number): number {
    const end = this.#text.indexOf("\n", at);
    return end < 0 ? this.#text.length : end + 1;
  }
}

const END = "";

/** Reads character by character, as git's config.c does; `\r\n` counts as one character. */
class Reader {
  readonly items: Item[] = [];
  readonly sections: Section[] = [];
  readonly #text: string;
  #at = 0;
  #section: Section | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  read(): void {
    if (this.#text.startsWith("\u00ef\u00bb\u00bf")) this.#at = 3;
    for (;;) {
      const c = this.#next();
      if (c === END) return;
      if (c === "#" || c === ";") this.#skipLine();
      else if (c === "[") this.#header();
      else if (/[A-Za-z]/.test(c)) this.#item();
      else if (!/[ \t\r\n]/.test(c)) throw this.#malformed();
    }
  }

  #next(): string {
    const c = this.#text.charAt(this.#at);
    this.#at++;
    if (c === "\r" && this.#text.charAt(this.#at) === "\n") {
      this.#at++;
      return "\n";
    }
    return c;
  }

  /** Moves to the end of the line, before the line end. */
  #skipLine(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }

  #header(): void {
    let name = "";
    for (;;) {
      const c = this.#next();
      if (c === "]") break;
      if (/[ \t]/.test(c)) {
        name += `.${this.#subsection()}`;
        break;
      }
      if (!/[A-Za-z0-9.-]/.test(c)) throw this.#malformed();
      name += c.toLowerCase();
    }
    this.#section = { name, lastLine: this.#at };
    this.sections.push(this.#section);
  }

  #subsection(): string {
    let c = this.#next();
    while (/[ \t\r]/.test(c)) c = this.#next();
    if (c !== '"') throw this.#malformed();
    let name = "";
    for (;;) {
      c = this.#next();
      if (c === '"') break;
      if (c === "\\") c = this.#next();
      if (c === "\n" || c === END) throw this.#malformed();
      name += c;
    }
    if (this.#next() !== "]") throw this.#malformed();
    return name;
  }

  #item(): void {
    const section = this.#section;
    const start = this.#at - 1;
    while (/[A-Za-z0-9-]/.test(this.#text.charAt(this.#at))) this.#at++;
    const keyEnd = this.#at;
    const name = this.#text.slice(start, keyEnd).toLowerCase();
    // Git accepts keys before the first section, though nothing uses them.
    const key = section === undefined ? name : `${section.name}.${name}`;
    while (/[ \t]/.test(this.#text.charAt(this.#at))) this.#at++;
    const c = this.#next();
    let value: string | undefined;
    if (c === "=") value = this.#value();
    else if (c !== "\n" && c !== END) throw this.#malformed();
    const end = this.#lineEnd();
    if (section !== undefined) section.lastLine = end;
    this.items.push({ key, value, start, keyEnd, end });
  }

  /** Index of the end of the line that was just read. */
  #lineEnd(): number {
    if (this.#at > this.#text.length) return this.#text.length;
    const isCrlf = this.#text.startsWith("\r\n", this.#at - 2);
    return this.#at - (isCrlf ? 2 : 1);
  }

  #value(): string {
    let value = "";
    let spaces = "";
    let isQuoted = false;
    for (;;) {
      let c = this.#next();
      if (c === "\n" || c === END) {
        if (isQuoted) throw this.#malformed();
        return value;
      }
      if (/[ \t\r]/.test(c) && !isQuoted) {
        if (value !== "") spaces += c;
        continue;
      }
      if ((c === "#" || c === ";") && !isQuoted) {
        this.#skipLine();
        if (this.#text.charAt(this.#at - 1) === "\r") this.#at--;
        continue;
      }
      value += spaces;
      spaces = "";
      if (c === "\\") {
        c = this.#next();
        if (c === "\n") continue;
        const meant = ESCAPES[c];
        if (meant === undefined) throw this.#malformed();
        value += meant;
      } else if (c === '"') isQuoted = !isQuoted;
      else value += c;
    }
  }

  #malformed(): TrunklineError {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    return new TrunklineError("config", `line ${line} is not valid git configuration`);
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  t: "\t",
  b: "\b",
  n: "\n",
  "\\": "\\",
  '"': '"',
};

export interface RestoreOptions {
  /** Keys to leave as they are, as `canonicalKey` spells them. */
  readonly except?: ReadonlySet<string>;
  /** Restores also keys that somebody has changed since. */
  readonly force?: boolean;
}

interface Restored {
  readonly bytes: Buffer;
  /** Keys that were changed since, and therefore not restored. */
  readonly changedSince: readonly string[];
}

/**
 * Takes a change of a configuration file back, key by key: what else was written to the file since
 * stays. Works on bytes, so that values in any encoding survive.
 */
export function restoreKeys(
  now: Buffer,
  before: Buffer,
  after: Buffer,
  { except = new Set(), force = false }: RestoreOptions = {},
): Restored {
  const [old, made] = [ConfigText.of(before), ConfigText.of(after)];
  let text = ConfigText.of(now);
  const changedSince: string[] = [];
  const keys = new Set([...old.items, ...made.items].map(({ key }) => key));
  for (const key of keys) {
    if (except.has(key)) continue;
    const wanted = old.values(key);
    const values = text.values(key);
    if (isDeepStrictEqual(wanted, made.values(key)) || isDeepStrictEqual(wanted, values)) continue;
    if (!force && !isDeepStrictEqual(values, made.values(key))) {
      changedSince.push(Buffer.from(key, "latin1").toString("utf8"));
      continue;
    }
    const spelled = old.items.find((item) => item.key === key);
    const name = spelled && old.text.slice(spelled.start, spelled.keyEnd);
    const section = key.slice(0, key.lastIndexOf("."));
    const full = name === undefined ? key : `${section}.${name}`;
    text = setValues(
      text,
      full,
      wanted.map((value) => value ?? "true"),
    );
    text = withoutNewSection(text, old, section);
  }
  return { bytes: Buffer.from(text.text, "latin1"), changedSince };
}

/** Removes the headers of a section that has become empty, unless the old file had as many. */
function withoutNewSection(given: ConfigText, old: ConfigText, name: string): ConfigText {
  const had = old.sections.filter((section) => section.name === name).length;
  let text = given;
  for (;;) {
    const own = text.sections.filter((section) => section.name === name);
    const empty = own.find((section) => isEmpty(text, section));
    if (empty === undefined || own.length <= had) return text;
    text = text.splice(text.lineStart(empty.lastLine), text.nextLine(empty.lastLine), "");
  }
}

/** Its header is alone on a line, and only blank lines follow up to the next section. */
function isEmpty(text: ConfigText, section: ConfigText["sections"][number]): boolean {
  const { lastLine } = section;
  const start = text.lineStart(lastLine);
  const isShared =
    text.items.some(({ end }) => end > start && end <= lastLine) ||
    text.sections.some((other) => {
      return other !== section && other.lastLine > start && other.lastLine <= lastLine;
    });
  return !isShared && /^\s*(?:\[|$)/.test(text.text.slice(lastLine));
}
