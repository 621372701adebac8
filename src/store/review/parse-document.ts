import type { ThreadDocument } from "./thread-document.ts";

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => Number.isSafeInteger(value);
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const hasFields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    typeof value === "object" &&
    value !== null &&
    Object.entries(checks).every(([name, check]) => check((value as Fields)[name]));

const isEvent = hasFields({
  kind: isText,
  at: isNumber,
  by: isText,
  role: isText,
  text: maybe(isText),
  proposal: maybe(hasFields({})),
  comments: maybe(isTexts),
});

const isDocument = hasFields({
  id: isText,
  repository: hasFields({
    gitDir: isText,
    root: isText,
    remotes: isTexts,
    firstCommit: maybe(isText),
  }),
  anchor: hasFields({
    path: isText,
    side: isText,
    line: maybe(isNumber),
    end: maybe(isNumber),
    blob: maybe(isText),
    commit: maybe(isText),
  }),
  severity: isText,
  comment: isText,
  suggestion: maybe(hasFields({ lines: isTexts })),
  by: isText,
  source: isText,
  at: isNumber,
  fingerprint: maybe(isText),
  events: (value) => Array.isArray(value) && value.length > 0 && value.every(isEvent),
  state: isText,
  claim: maybe(hasFields({ agent: isText, until: isNumber, before: isText })),
  isResolvedThere: maybe((value) => typeof value === "boolean"),
});

/** A thread of another machine; undefined where this version does not understand it. */
export function parseDocument(text: string): ThreadDocument | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isDocument(value) ? (value as ThreadDocument) : undefined;
  } catch {
    return undefined;
  }
}
