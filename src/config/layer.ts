import { type Check, keyText, type Problem } from "../base/check.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Config, Origin, OriginKind } from "./config.ts";

export { keyText };

/** A value of the configuration: keys, and indexes of lists. */
export type KeyPath = readonly (string | number)[];

export type ConfigValues = Readonly<Record<string, unknown>>;

/** The values that one source sets. */
export interface ConfigLayer {
  readonly kind: Exclude<OriginKind, "default">;
  readonly values: ConfigValues;
  /** Its values cannot be wrong, so the checks need not be loaded for it. */
  readonly isRight?: boolean;
  /** What was ignored, where and why. */
  readonly warnings?: readonly string[];
  where(path: KeyPath): string;
  /** An error that says what is wrong with a value, and where it was set. */
  complain(path: KeyPath, says: string): Error;
}

export function isValues(value: unknown): value is ConfigValues {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Two layers in one, value by value; the second wins. Lists are values.
 *
 * An MCP server is a program or an address. One that changes from the one to the other is replaced
 * whole, since no server is both.
 */
export function mergeValues(
  weak: ConfigValues,
  strong: ConfigValues,
  path: KeyPath = [],
): ConfigValues {
  if (path.length === 0) return mergeAt(withAgentName(weak), withAgentName(strong), path);
  return mergeAt(weak, strong, path);
}

/** Turns an agent that is given as a name into an object; older configurations have only the name. */
export function withAgentName(values: ConfigValues): ConfigValues {
  return typeof values.agent === "string" ? { ...values, agent: { name: values.agent } } : values;
}

function mergeAt(weak: ConfigValues, strong: ConfigValues, path: KeyPath): ConfigValues {
  const merged: Record<string, unknown> = { ...weak };
  for (const [key, value] of Object.entries(strong)) {
    const old = Object.hasOwn(weak, key) ? weak[key] : undefined;
    const isDeep = isValues(old) && isValues(value) && !(isServer(path) && changesKind(old, value));
    merged[key] = isDeep ? mergeValues(old, value, [...path, key]) : value;
  }
  return merged;
}

function isServer(parent: KeyPath): boolean {
  return parent.length === 1 && parent[0] === "mcpServers";
}

function changesKind(old: ConfigValues, value: ConfigValues): boolean {
  const isProgram = (each: ConfigValues): boolean => "command" in each;
  const isReached = (each: ConfigValues): boolean => "url" in each || "openapi" in each;
  const isOther = (isProgram(old) && isReached(value)) || (isReached(old) && isProgram(value));
  // The `url` of an API may be set by itself, and does not make it an MCP server.
  return isOther || ("openapi" in value && !("openapi" in old));
}

/** The former name of the group `serve`, which people confused with `mcpServers`. */
const FORMER = "server";

/** A layer in which `server.port` is `serve.port`. What it says of a place is about what was written. */
export function withNewNames(layer: ConfigLayer): ConfigLayer {
  const { [FORMER]: server, serve = {}, ...others } = layer.values;
  if (!isValues(server) || !isValues(serve)) return layer;
  const written = ([group, key = "", ...rest]: KeyPath): KeyPath =>
    group === "serve" && Object.hasOwn(server, key) && !Object.hasOwn(serve, key)
      ? [FORMER, key, ...rest]
      : [group ?? "", key, ...rest];
  return {
    ...layer,
    values: { ...others, serve: { ...server, ...serve } },
    where: (path) => layer.where(written(path)),
    complain: (path, says) => layer.complain(written(path), says),
  };
}

/** A key by its new name. */
export function newName(path: KeyPath): KeyPath {
  return path[0] === FORMER && path.length > 1 ? ["serve", ...path.slice(1)] : path;
}

/** A key of `serve` by its old name. */
export function formerName([, ...rest]: KeyPath): KeyPath {
  return [FORMER, ...rest];
}

/** Says the new names of settings that a layer calls by their old ones. */
export function formerNames(layer: ConfigLayer): string[] {
  const { [FORMER]: server } = layer.values;
  if (!isValues(server)) return [];
  return Object.keys(server).map((key) => {
    const path = [FORMER, key];
    return `${layer.where(path)}: '${keyText(path)}' is now '${keyText(newName(path))}'`;
  });
}

/** Who set each value: the strongest layer that has it. */
export function originsOf(config: Config, layers: readonly ConfigLayer[]): Map<string, Origin> {
  const origins = new Map<string, Origin>();
  const strongestFirst = layers.map(withNewNames).toReversed();
  for (const [path] of leaves(config)) {
    const layer = strongestFirst.find(({ values }) => valueAt(values, path) !== undefined);
    const origin: Origin =
      layer === undefined
        ? { kind: "default", where: "built in" }
        : { kind: layer.kind, where: layer.where(path) };
    origins.set(keyText(path), origin);
  }
  return origins;
}

/** Every single value and the path to it. Lists and empty objects are values. */
export function* leaves(value: object, path: KeyPath = []): Generator<[KeyPath, unknown]> {
  for (const [key, item] of Object.entries(value) as [string, unknown][]) {
    const here = [...path, key];
    if (isValues(item) && Object.keys(item).length > 0) yield* leaves(item, here);
    else yield [here, item];
  }
}

export function valueAt(values: unknown, path: KeyPath): unknown {
  let at = values;
  for (const step of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as ConfigValues)[step];
  }
  return at;
}

/**
 * Merges the layers, the strongest last, and checks the result after each: a layer may set a part of
 * what a weaker one began, so it cannot be checked alone. The first that makes it wrong is blamed, for
 * all of its mistakes in their order.
 *
 * With `leaveOut`, an MCP server that a file has wrong costs itself only: it is left out and reported. With
 * `further`, what that finds is wrong too.
 */
export async function checkedValues(
  layers: readonly ConfigLayer[],
  leaveOut?: (warning: string) => void,
  further: (values: ConfigValues) => readonly Problem[] = () => [],
): Promise<ConfigValues> {
  let merged: ConfigValues = {};
  for (const layer of layers.map(withNewNames)) {
    if (Object.keys(layer.values).length === 0) continue;
    merged = mergeValues(merged, layer.values);
    if (layer.isRight) continue;
    const { checkConfigFile } = await import("./schema/schema.gen.ts");
    const mistakes: ConfigMistake[] = [];
    const mended: KeyPath[] = [];
    let problem = checkConfigFile(merged);
    while (problem !== undefined && mended.length < MOST_MISTAKES) {
      const { path, says } = problem;
      const error = layer.complain(path, says);
      const isOfFile = layer.kind === "user" || layer.kind === "project";
      const rest = isOfFile ? withoutServer(merged, path) : undefined;
      if (rest !== undefined && leaveOut !== undefined) {
        leaveOut(`${error.message}. The server is left out`);
        merged = rest;
      } else {
        // A value that we have replaced may cause a further mistake, which is not one of the file.
        const isOurs = mended.some((one) => one.every((step, at) => step === path[at]));
        if (!isOurs) mistakes.push({ error, where: layer.where(path) });
        mended.push(path);
        merged = mend(merged, problem, checkConfigFile);
      }
      problem = checkConfigFile(merged);
    }
    for (const { path, says } of further(merged)) {
      mistakes.push({ error: layer.complain(path, says), where: layer.where(path) });
    }
    if (mistakes.length > 0) throw together(mistakes);
  }
  const { $schema: _, ...values } = merged;
  return values;
}

/** The most mistakes that one error lists. */
const MOST_MISTAKES = 50;

interface ConfigMistake {
  readonly error: Error;
  readonly where: string;
}

/** One error that says all of them, in the order of their lines. */
function together(mistakes: readonly ConfigMistake[]): Error {
  const [first, ...more] = mistakes.toSorted((one, other) => {
    const [[line, column], [otherLine, otherColumn]] = [placeOf(one), placeOf(other)];
    return line - otherLine || column - otherColumn;
  });
  if (first === undefined || more.length === 0) return first?.error ?? new Error("No mistake");
  const says = [first, ...more].map(({ error }) => error.message);
  const code = first.error instanceof TrunklineError ? first.error.code : "config";
  return new TrunklineError(code, says.join("\n"));
}

/** The line and the column at the end of `file:3:13`; zeros for a source that is no file. */
function placeOf({ where }: ConfigMistake): readonly [number, number] {
  const [, line = 0, column = 0] = /:(\d+):(\d+)$/.exec(where) ?? [];
  return [Number(line), Number(column)];
}

/** Values to replace a wrong one with: one of them is valid for nearly every setting that is not an enum. */
const STAND_INS = ["x", "https://x.example", 1, ["https://x.example"], {}];

/** The values without a mistake, so that the next check finds the next one. */
function mend(values: ConfigValues, { path, says }: Problem, check: Check): ConfigValues {
  const problemWith = (value: unknown): string | undefined => {
    const found = check(withAt(values, path, value));
    return found !== undefined && keyText(found.path) === keyText(path) ? found.says : undefined;
  };
  const [, word = "x"] = /^must be one of: ([^,]+)/.exec(problemWith("") ?? "") ?? [];
  const fitting = [word, ...STAND_INS].find((value) => problemWith(value) === undefined);
  // An unknown key is removed, and so is a group that no stand-in fits.
  const isWhole =
    fitting === undefined && (says === "is missing" || typeof path.at(-1) !== "string");
  return withAt(values, isWhole ? path.slice(0, -1) : path, fitting);
}

/** The values with another one at a path; without that one if it is left out. */
function withAt<T>(values: T, [step, ...rest]: KeyPath, value?: unknown): T {
  if (step === undefined) return values;
  const isList = Array.isArray(values);
  const copy = (isList ? [...(values as unknown[])] : { ...values }) as Record<string, unknown>;
  if (rest.length > 0) copy[step] = withAt(copy[step], rest, value);
  else if (value === undefined) delete copy[step];
  else copy[step] = value;
  return copy as T;
}

/** The values without the MCP server that a path leads into; undefined if it leads elsewhere. */
function withoutServer(values: ConfigValues, [part, name]: KeyPath): ConfigValues | undefined {
  const { mcpServers } = values;
  if (part !== "mcpServers" || name === undefined || !isValues(mcpServers)) return undefined;
  const { [name]: _, ...others } = mcpServers;
  return { ...values, mcpServers: others };
}
