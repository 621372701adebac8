import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { homeOf } from "../../base/process/environment.ts";
import type { Identities } from "../../identity/identities.ts";
import type { Invocation, Values } from "../shell/command.ts";
import { askMissing } from "./ask-facts.ts";
import { openIdentities } from "./identity-options-of.ts";
import { toJson } from "./identity.ts";

type Settings = Parameters<Identities["save"]>[1];
type Rule = NonNullable<Settings["match"]>[number];

export interface FactValues extends Values {
  readonly provider?: Settings["provider"];
  readonly user?: string;
  readonly email?: string;
  readonly "display-name"?: string;
  readonly host?: string;
  readonly "ssh-host"?: string;
  readonly "ssh-key"?: string;
  readonly signing?: "openpgp" | "ssh" | "none";
  readonly "signing-key"?: string;
  readonly organization?: readonly string[];
  readonly "token-source"?: string;
  readonly match?: readonly string[];
  readonly json?: boolean;
}

/** `trunkline identity add NAME` */
export async function add(invocation: Invocation<FactValues>): Promise<number> {
  const [name = ""] = invocation.positionals;
  const identities = await openIdentities(invocation);
  const values = await askMissing(invocation);
  const { provider } = values;
  const missing = (["provider", "user", "email"] as const).filter((key) => !values[key]);
  if (provider === undefined || missing.length > 0) {
    const options = missing.map((key) => `--${key}`).join(", ");
    throw new TrunklineError("usage", `Cannot add identity '${name}' without ${options}`);
  }
  const settings = withFacts({ provider }, values, invocation);
  await identities.save(name, settings, true);
  return tell(invocation, name, settings, `Added identity '${name}' to ${identities.file}.`);
}

/** `trunkline identity edit NAME` */
export async function edit(invocation: Invocation<FactValues>): Promise<number> {
  const [name = ""] = invocation.positionals;
  const identities = await openIdentities(invocation);
  const old = identities.find(name).settings;
  const settings = withFacts(old, invocation.values, invocation);
  if (JSON.stringify(settings) === JSON.stringify(old)) {
    const says = "Say what is to change, as in --email ada@example.com";
    throw new TrunklineError("usage", `Identity '${name}' is so already. ${says}`);
  }
  await identities.save(name, settings, false);
  return tell(invocation, name, settings, `Changed identity '${name}'.`);
}

/** `trunkline identity remove NAME` */
export async function remove(invocation: Invocation<{ readonly json?: boolean }>): Promise<number> {
  const [name = ""] = invocation.positionals;
  const identities = await openIdentities(invocation);
  await identities.remove(name);
  if (invocation.values.json) invocation.out(toJson({ removed: name }));
  else invocation.out(`Removed identity '${name}' from ${identities.file}.\n`);
  return 0;
}

function tell(
  { values, out }: Invocation<FactValues>,
  name: string,
  settings: Settings,
  said: string,
): number {
  if (values.json) out(toJson({ name, ...settings }));
  else out(`${said}\n`);
  return 0;
}

/** The settings with what the options say; an empty option takes something away. */
function withFacts(old: Settings, values: FactValues, invocation: Invocation): Settings {
  const settings: { -readonly [Key in keyof Settings]: Settings[Key] } = { ...old };
  const put = <Key extends keyof Settings>(key: Key, value: Settings[Key] | "" | undefined) => {
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
  put("sshKey", keyFile(values["ssh-key"], invocation));
  put(
    "organizations",
    values.organization?.filter((each) => each !== ""),
  );
  put(
    "match",
    values.match?.filter((each) => each !== "").map((each) => ruleOf(each, invocation)),
  );
  put("tokenSource", tokenSourceOf(values["token-source"]));
  const signing = signingOf(old.signing, values, invocation);
  if (signing !== undefined) settings.signing = signing;
  else if (values.signing === "none") delete settings.signing;
  return settings;
}

function signingOf(
  old: Settings["signing"],
  values: FactValues,
  invocation: Invocation,
): Settings["signing"] {
  const { signing: format = old?.format, "signing-key": given } = values;
  if (format === "none") return undefined;
  if (format === undefined) {
    if (given === undefined) return undefined;
    throw new TrunklineError("usage", "With --signing-key, say how: --signing openpgp or ssh");
  }
  // A key of the one kind is none of the other.
  const { key: former, ...rest } = old?.format === format ? old : { format, key: undefined };
  const isFile = format === "ssh" && given !== undefined && !/^(?:key::|ssh-|$)/.test(given);
  const key = given === "" ? undefined : ((isFile ? keyFile(given, invocation) : given) ?? former);
  return { ...rest, format, ...(key === undefined ? {} : { key }) };
}

function tokenSourceOf(text: string | undefined): Settings["tokenSource"] | "" {
  if (text === undefined || text === "") return text;
  const [, variable] = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(text) ?? [];
  if (variable !== undefined) return { kind: "environment", variable };
  if (text === "keychain" || text === "none") return { kind: text };
  if (text === "cli") return { kind: "command-line" };
  const why = "it is keychain, env:VARIABLE, cli or none";
  // Somebody may have taken it for the token itself.
  throw new TrunklineError("usage", `Cannot read --token-source: ${why}. It is never a token`);
}

/** As people write it: what a shell did not expand is, and the rest counts from here. */
function keyFile(text: string | undefined, { cwd }: Invocation): string | undefined {
  if (text === undefined || text === "" || text.startsWith("~/")) return text;
  return resolve(cwd, text);
}

function ruleOf(text: string, invocation: Invocation): Rule {
  const rule: { -readonly [Key in keyof Rule]: Rule[Key] } = {};
  for (const part of text.split(",")) {
    const [, key = "", value = ""] = /^(host|owner|path|remote)=(.+)$/.exec(part.trim()) ?? [];
    if (key === "") {
      const why = "it is path=DIR, host=HOST, owner=OWNER or remote=URL, joined by commas";
      throw new TrunklineError("usage", `Cannot read the rule '${text}': ${why}`);
    }
    const home = homeOf(invocation.env);
    const folder = value.startsWith("~/") ? value : resolve(invocation.cwd, value);
    rule[key as keyof Rule] =
      key === "path" ? folder.replace(new RegExp(`^${RegExp.escape(home)}(?=/)`), "~") : value;
  }
  return rule;
}
