import { isSecretName, maskText } from "../../base/text/mask.ts";
import { isMap } from "../format/format.ts";

interface OwnChoices {
  readonly timeout?: number;
  readonly autoApprove?: readonly string[];
}

/** A server as it stands in Trunkline's own configuration. */
export type OwnServer = OwnChoices &
  (
    | {
        readonly command: string;
        readonly args?: readonly string[];
        readonly env?: Readonly<Record<string, string>>;
        readonly cwd?: string;
      }
    | {
        readonly url: string;
        readonly type?: "sse";
        readonly headers?: Readonly<Record<string, string>>;
      }
  );

/** What became of a server of another program. */
export interface ReadServer {
  /** Undefined if it cannot be taken over. */
  readonly server?: OwnServer;
  /** Why not. */
  readonly problem?: string;
  /** Fields that have no counterpart, and variables that have to be set by hand. */
  readonly leftOut: readonly string[];
  /** Fields that are secrets, by their names: `env.GITHUB_TOKEN`. */
  readonly secrets: readonly string[];
}

/** Fields that have a counterpart, or whose absence changes nothing. */
const UNDERSTOOD = new Set([
  ...["command", "cmd", "args", "env", "environment", "envs", "cwd", "type", "name"],
  ...["url", "uri", "serverUrl", "httpUrl", "headers", "http_headers", "requestOptions"],
  ...["enabled", "disabled", "description", "bundled", "display_name"],
  ...["env_vars", "env_keys", "bearer_token_env_var", "env_http_headers"],
  ...["timeout", "autoApprove", "alwaysAllow"],
]);

/** What refers to a value in other programs and means nothing here, such as `${cmd: …}`. */
const FOREIGN = /\$\{(?!(?:env:|input:|keychain:)?[\w.-]+(?::-[^}]*)?\})[^}]*\}/;

/** Reads a server in any of the forms that programs have. */
export function readServer(entry: unknown): ReadServer {
  if (!isMap(entry)) return unfit("it is not an object");
  if (entry.disabled === true || entry.enabled === false) return unfit("it is switched off");
  const words = wordsOf(entry)?.map(withOwnReferences);
  const given = textAt(entry, "httpUrl", "url", "uri", "serverUrl");
  const url = given === undefined ? undefined : withOwnReferences(given);
  if (words === undefined && url === undefined) return unfit("it is built into that program");
  const variable = [...(words ?? []), url ?? ""].find((word) => FOREIGN.test(word));
  if (variable !== undefined)
    return unfit(`it uses '${variable}', which Trunkline does not expand`);
  if (url !== undefined && words === undefined) return addressOf(entry, url);
  const [command = "", ...args] = words ?? [];
  const needed = [...listAt(entry, "env_vars"), ...listAt(entry, "env_keys")];
  const env = pairsOf("env", entry.env ?? entry.environment ?? entry.envs, needed.map(byVariable));
  const cwd = textAt(entry, "cwd");
  const server = {
    command,
    ...(args.length > 0 && { args }),
    ...(Object.keys(env.values).length > 0 && { env: env.values }),
    ...(cwd !== undefined && { cwd }),
    ...choicesOf(entry),
  };
  // A flag says of the next word that it is a secret.
  const visible = args.flatMap((word, at) => {
    const both = `${args[at - 1] ?? ""} ${word}`;
    const isSecret = maskText(word) !== word || !maskText(both).endsWith(` ${word}`);
    return isSecret ? [`args[${at}]`] : [];
  });
  return {
    server,
    leftOut: [...env.leftOut, ...unknownOf(entry)],
    secrets: [...env.secrets, ...visible],
  };
}

function addressOf(entry: Readonly<Record<string, unknown>>, url: string): ReadServer {
  if (!/^(?:https?:\/\/|\$\{)/.test(url)) return unfit(`'${maskText(url)}' is not an HTTP address`);
  const options = isMap(entry.requestOptions) ? entry.requestOptions : {};
  const bearer = textAt(entry, "bearer_token_env_var");
  const named = isMap(entry.env_http_headers) ? Object.entries(entry.env_http_headers) : [];
  const headers = pairsOf("headers", entry.headers ?? entry.http_headers ?? options.headers, [
    ...(bearer === undefined ? [] : [["Authorization", `Bearer \${${bearer}}`] as const]),
    ...named.map(([name, variable]) => [name, `\${${String(variable)}}`] as const),
  ]);
  const server = {
    ...(entry.type === "sse" && { type: "sse" as const }),
    url,
    ...(Object.keys(headers.values).length > 0 && { headers: headers.values }),
    ...choicesOf(entry),
  };
  return {
    server,
    leftOut: [...headers.leftOut, ...unknownOf(entry)],
    secrets: [...headers.secrets, ...(maskText(url) === url ? [] : ["url"])],
  };
}

/** The command with its arguments. opencode has one list of both. */
function wordsOf(entry: Readonly<Record<string, unknown>>): string[] | undefined {
  if (Array.isArray(entry.command)) return listAt(entry, "command");
  const command = textAt(entry, "command", "cmd");
  return command === undefined ? undefined : [command, ...listAt(entry, "args")];
}

function textAt(entry: Readonly<Record<string, unknown>>, ...names: string[]): string | undefined {
  const found = names.map((name) => entry[name]).find((value) => typeof value === "string");
  return found === "" ? undefined : found;
}

function listAt(entry: Readonly<Record<string, unknown>>, name: string): string[] {
  const value = entry[name];
  return Array.isArray(value) ? value.map(String) : [];
}

interface Pairs {
  readonly values: Readonly<Record<string, string>>;
  readonly leftOut: readonly string[];
  readonly secrets: readonly string[];
}

function pairsOf(field: string, value: unknown, more: readonly (readonly string[])[]): Pairs {
  const own = isMap(value) ? Object.entries(value) : [];
  const pairs = [...own.map(([key, item]) => [key, withOwnReferences(String(item))]), ...more];
  const isForeign = ([, text = ""]: readonly string[]): boolean => FOREIGN.test(text);
  const kept = pairs.filter((pair) => !isForeign(pair));
  const isSecret = ([key = "", text = ""]: readonly string[]): boolean =>
    text !== "" &&
    !text.includes("${") &&
    (isSecretName(key, text) || maskText(text) !== text || /key$/i.test(key));
  const nameOf = ([key = ""]: readonly string[]): string => `${field}.${key}`;
  return {
    values: Object.fromEntries(kept) as Record<string, string>,
    leftOut: pairs.filter(isForeign).map(nameOf),
    secrets: kept.filter(isSecret).map(nameOf),
  };
}

/** opencode writes `{env:NAME}`, and Continue and Zed `$NAME`, for what is `${NAME}` here. */
function withOwnReferences(text: string): string {
  return text.replaceAll(/(?<!\$)\{env:(\w+)\}/g, "${$1}").replace(/^\$(\w+)$/, "${$1}");
}

/** A variable that the program passes on. */
function byVariable(name: string): readonly string[] {
  return [name, `\${${name}}`];
}

function choicesOf(entry: Readonly<Record<string, unknown>>): OwnChoices {
  const { timeout } = entry;
  const approved = [...listAt(entry, "autoApprove"), ...listAt(entry, "alwaysAllow")];
  return {
    ...(typeof timeout === "number" && timeout >= 1 && { timeout }),
    ...(approved.length > 0 && { autoApprove: approved }),
  };
}

function unknownOf(entry: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(entry).filter((key) => !UNDERSTOOD.has(key));
}

function unfit(problem: string): ReadServer {
  return { problem, leftOut: [], secrets: [] };
}
