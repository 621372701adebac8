import { resolve } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { homeOf } from "../base/process/environment.ts";
import type { IdentitySettings, MatchRule } from "./identity.ts";

/** What a person says of an identity, by the names of the options of `identity add`. */
export interface IdentityFacts {
  readonly provider?: IdentitySettings["provider"];
  readonly user?: string;
  readonly email?: string;
  readonly "display-name"?: string;
  readonly host?: string;
  readonly "ssh-host"?: string;
  readonly "ssh-key"?: string;
  readonly signing?: "openpgp" | "ssh" | "none";
  readonly "signing-key"?: string;
  readonly "token-source"?: string;
  readonly organization?: readonly string[];
  readonly match?: readonly string[];
}

/** Where a command was typed: the folder that relative paths are relative to. */
export interface InvocationPlace {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A new identity. Throws "usage" where something is missing. */
export function newIdentity(
  name: string,
  facts: IdentityFacts,
  place: InvocationPlace,
): IdentitySettings {
  const { provider } = facts;
  const missing = (["provider", "user", "email"] as const).filter((key) => !facts[key]);
  if (provider === undefined || missing.length > 0) {
    const options = missing.map((key) => `--${key}`).join(", ");
    throw new TrunklineError("usage", `Cannot add identity '${name}' without ${options}`);
  }
  return withFacts({ provider }, facts, place);
}

/** The settings with the given options applied; an empty option removes its setting. */
export function withFacts(
  old: IdentitySettings,
  values: IdentityFacts,
  place: InvocationPlace,
): IdentitySettings {
  const settings: { -readonly [Key in keyof IdentitySettings]: IdentitySettings[Key] } = { ...old };
  const put = <Key extends keyof IdentitySettings>(
    key: Key,
    value: IdentitySettings[Key] | "" | undefined,
  ) => {
    if (value === undefined) return;
    if (value === "" || (Array.isArray(value) && value.length === 0)) delete settings[key];
    else settings[key] = value;
  };
  put("provider", values.provider);
  put("host", values.host);
  put("sshHost", values["ssh-host"]);
  put("user", values.user);
  put("email", values.email);
  put("displayName", values["display-name"]);
  put("sshKey", keyFile(values["ssh-key"], place));
  put(
    "organizations",
    values.organization?.filter((each) => each !== ""),
  );
  put(
    "match",
    values.match?.filter((each) => each !== "").map((each) => ruleOf(each, place)),
  );
  put("tokenSource", tokenSourceOf(values["token-source"]));
  const signing = signingOf(old.signing, values, place);
  if (signing !== undefined) settings.signing = signing;
  else if (values.signing === "none") delete settings.signing;
  return settings;
}

function signingOf(
  old: IdentitySettings["signing"],
  values: IdentityFacts,
  place: InvocationPlace,
): IdentitySettings["signing"] {
  const { signing: format = old?.format, "signing-key": given } = values;
  if (format === "none") return undefined;
  if (format === undefined) {
    if (given === undefined) return undefined;
    const says = "Cannot use --signing-key alone: add --signing openpgp or --signing ssh";
    throw new TrunklineError("usage", says);
  }
  // A key of one format cannot sign in the other.
  const { key: former, ...rest } = old?.format === format ? old : { format, key: undefined };
  const isFile = format === "ssh" && given !== undefined && !/^(?:key::|ssh-|$)/.test(given);
  const key = given === "" ? undefined : ((isFile ? keyFile(given, place) : given) ?? former);
  return { ...rest, format, ...(key === undefined ? {} : { key }) };
}

function tokenSourceOf(text: string | undefined): IdentitySettings["tokenSource"] | "" {
  if (text === undefined || text === "") return text;
  const [, variable] = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(text) ?? [];
  if (variable !== undefined) return { kind: "environment", variable };
  if (text === "keychain" || text === "none") return { kind: text };
  if (text === "cli") return { kind: "command-line" };
  const why = "it is keychain, env:VARIABLE, cli or none";
  // The value is not shown: it may be the token itself, given by mistake.
  throw new TrunklineError("usage", `Cannot read --token-source: ${why}, never the token itself`);
}

/** `~/` stays as it is, for other machines; any other path is relative to the current folder. */
function keyFile(text: string | undefined, { cwd }: InvocationPlace): string | undefined {
  return text === undefined || text === "" || text.startsWith("~/") ? text : resolve(cwd, text);
}

function ruleOf(text: string, place: InvocationPlace): MatchRule {
  const rule: { -readonly [Key in keyof MatchRule]: MatchRule[Key] } = {};
  for (const part of text.split(",")) {
    const [, key = "", value = ""] = /^(host|owner|path|remote)=(.+)$/.exec(part.trim()) ?? [];
    if (key === "") {
      const why = "write path=DIR, host=HOST, owner=OWNER or remote=URL, joined by commas";
      throw new TrunklineError("usage", `Cannot read the match rule '${text}': ${why}`);
    }
    const home = homeOf(place.env);
    const folder = value.startsWith("~/") ? value : resolve(place.cwd, value);
    rule[key as keyof MatchRule] =
      key === "path" ? folder.replace(new RegExp(`^${RegExp.escape(home)}(?=/)`), "~") : value;
  }
  return rule;
}
