import { isDeepStrictEqual } from "node:util";

import { ConfigText } from "./config-text.ts";
import { setValues } from "./edit-config.ts";

export interface RestoreOptions {
  /** Keys to leave as they are, as `canonicalKey` spells them. */
  readonly except?: ReadonlySet<string>;
  /** Restores also keys that somebody has changed since. */
  readonly force?: boolean;
}

export interface Restored {
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
