import { isRepositoryPath } from "../../base/file/repository-path.ts";
import { SEVERITIES, STATES } from "./review-thread.ts";
import type { ThreadDocument } from "./thread-document.ts";

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const OBJECT_ID = /^[0-9a-f]{1,64}$/;

const isText: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => Number.isSafeInteger(value);
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isPath: Check = (value) => typeof value === "string" && isRepositoryPath(value);
const isObjectId: Check = (value) => typeof value === "string" && OBJECT_ID.test(value);
const isOneOf =
  (...texts: readonly string[]): Check =>
  (value) =>
    texts.includes(value as string);
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
  role: isOneOf("person", "agent"),
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
    path: isPath,
    side: isOneOf("old", "new"),
    line: maybe(isNumber),
    end: maybe(isNumber),
    blob: maybe(isObjectId),
    commit: maybe(isObjectId),
    quote: maybe(isTexts),
    before: maybe(isTexts),
    after: maybe(isTexts),
  }),
  severity: isOneOf(...SEVERITIES),
  comment: isText,
  suggestion: maybe(hasFields({ lines: isTexts })),
  by: isText,
  source: isText,
  at: isNumber,
  fingerprint: maybe(isText),
  events: (value) => Array.isArray(value) && value.length > 0 && value.every(isEvent),
  state: isOneOf(...STATES),
  claim: maybe(hasFields({ agent: isText, until: isNumber, before: isOneOf(...STATES) })),
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
