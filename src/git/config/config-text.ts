import { TrunklineError } from "../../base/errors.ts";
import type { ConfigValue } from "./config-list.ts";

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

  /** Of the line whose end was just read. */
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
