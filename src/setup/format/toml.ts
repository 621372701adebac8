import { isDeepStrictEqual } from "node:util";
import { parse, stringify, TomlError, type TomlTable } from "smol-toml";

import { isObject } from "../../base/check.ts";
import { attempt } from "../../base/attempt.ts";
import { eolOf } from "../../config/file/set-in-jsonc.ts";
import { objectAround } from "../../config/set-path.ts";
import { type Format, type KeyPath, valueAt } from "./format.ts";

/** A statement of a file: the header of a table, or a key with its value. */
interface TomlStatement {
  /** Comments and empty lines before it. */
  readonly lead: string;
  /** Its lines. An empty statement at the end has the lines after the last one as its lead. */
  readonly text: string;
  readonly isHeader: boolean;
  /** What it says by itself. */
  readonly value: TomlTable;
}

/** TOML. A map is added as a table of its own at the end, where no other statement changes it. */
export const toml: Format = {
  read(text) {
    try {
      return parsed(text);
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      const [says] = error.message.replace("Invalid TOML document: ", "").split("\n");
      throw new Error(`it is not TOML (line ${error.line}: ${says})`, { cause: error });
    }
  },

  set(text, path, value) {
    const statements = statementsOf(text);
    const isTable = statements.some((each) => isHeaderOf(each, path));
    const rest = isTable ? withoutTables(statements, path) : text;
    if (isObject(value)) return appended(rest, path, value);
    return isTable ? rest : setKey(statements, path, value);
  },
};

/** The library's tables have no prototype, which would make them unequal to ours. */
function parsed(text: string): TomlTable {
  return structuredClone(parse(text, { integersAsBigInt: "asNeeded" }));
}

/** A statement ends with the first line with which it is complete: each is valid by itself. */
function statementsOf(text: string): TomlStatement[] {
  const found: TomlStatement[] = [];
  let lead = "";
  let open = "";
  for (const line of text.split(/(?<=\n)/)) {
    open += line;
    const value = parsedIfComplete(open);
    if (value === undefined) continue;
    if (Object.keys(value).length === 0) {
      lead += open;
    } else {
      found.push({ lead, text: open, isHeader: /^\s*\[/.test(open), value });
      lead = "";
    }
    open = "";
  }
  return [...found, { lead, text: open, isHeader: false, value: {} }];
}

function parsedIfComplete(text: string): TomlTable | undefined {
  return attempt(() => parsed(text));
}

function isHeaderOf({ isHeader, value }: TomlStatement, path: readonly string[]): boolean {
  return isHeader && isDeepStrictEqual(value, objectAround(path, {}));
}

function appended(text: string, path: KeyPath, table: object): string {
  const eol = eolOf(text);
  const block = stringify(objectAround(path, table)).trim().replaceAll("\n", eol) + eol;
  return text === "" ? block : `${text}${text.endsWith("\n") ? "" : eol}${eol}${block}`;
}

/** Without a table and the tables in it. Comments before a header stay. */
function withoutTables(statements: readonly TomlStatement[], path: KeyPath): string {
  let isOurs = false;
  return statements
    .map(({ lead, text, isHeader, value }) => {
      if (isHeader) isOurs = valueAt(value, path) !== undefined;
      if (!isOurs || text === "") return lead + text;
      return isHeader ? lead.replace(/(^|\n)\r?\n$/, "$1") : "";
    })
    .join("");
}

function setKey(statements: readonly TomlStatement[], path: KeyPath, value: unknown): string {
  const [table, name] = [path.slice(0, -1), path.at(-1) ?? ""];
  const header = statements.findIndex((each) => isHeaderOf(each, table));
  if (header < 0) throw new Error(`'${table.join(".")}' is not written as a table of its own`);
  const line = value === undefined ? "" : stringify({ [name]: value }).trim();
  const next = statements.findIndex(({ isHeader }, at) => at > header && isHeader);
  const keys = statements.slice(header + 1, next < 0 ? undefined : next);
  const present = keys.find((each) => Object.hasOwn(each.value, name));
  const texts = statements.map((each, at) => {
    const { lead, text } = each;
    if (each === present) return lead + (line === "" ? "" : line + endingOf(present));
    if (at !== header || present !== undefined || line === "") return lead + text;
    const eol = eolOf(text);
    return `${lead}${text}${text.endsWith("\n") ? "" : eol}${line}${eol}`;
  });
  return texts.join("");
}

/** What follows the value of a key: a comment, the end of the line. */
function endingOf({ text, value }: TomlStatement): string {
  const ends = [...text.matchAll(/[ \t]*#|\r?\n?$/g)].map(({ index }) => index);
  const end = ends.find((at) => isDeepStrictEqual(parsedIfComplete(text.slice(0, at)), value));
  return text.slice(end);
}
