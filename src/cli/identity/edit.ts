import { resolve } from "node:path";
import { createInterface } from "node:readline";

import { TrunklineError } from "../../base/errors.ts";
import { homeOf } from "../../base/process/environment.ts";
import type { IdentitySettings, MatchRule } from "../../identity/identity.ts";
import { readGivenFile } from "../shell/ask.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openIdentities } from "./identity.ts";
import { print, printJson } from "../shell/layout.ts";

type FactValues = OptionValues<
  | "user"
  | "email"
  | "display-name"
  | "host"
  | "ssh-host"
  | "ssh-key"
  | "signing-key"
  | "token-source",
  never,
  "organization" | "match"
> & {
  readonly provider?: IdentitySettings["provider"];
  readonly signing?: "openpgp" | "ssh" | "none";
};

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
  return print(
    invocation,
    { name, ...settings },
    `Added identity '${name}' to ${identities.file}.\n`,
  );
}

/** `trunkline identity edit NAME` */
export async function edit(invocation: Invocation<FactValues>): Promise<number> {
  const [name = ""] = invocation.positionals;
  const identities = await openIdentities(invocation);
  const old = identities.find(name).settings;
  const settings = withFacts(old, invocation.values, invocation);
  if (JSON.stringify(settings) === JSON.stringify(old)) {
    const says = "nothing is different. Name what to change, as in --email ada@example.com";
    throw new TrunklineError("usage", `Cannot edit identity '${name}': ${says}`);
  }
  await identities.save(name, settings, false);
  return print(invocation, { name, ...settings }, `Changed identity '${name}'.\n`);
}

/** `trunkline identity remove NAME` */
export async function remove(invocation: Invocation): Promise<number> {
  const [name = ""] = invocation.positionals;
  const identities = await openIdentities(invocation);
  await identities.remove(name);
  return print(
    invocation,
    { removed: name },
    `Removed identity '${name}' from ${identities.file}.\n`,
  );
}

/** The settings with the given options applied; an empty option removes its setting. */
function withFacts(
  old: IdentitySettings,
  values: FactValues,
  invocation: Invocation,
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
  old: IdentitySettings["signing"],
  values: FactValues,
  invocation: Invocation,
): IdentitySettings["signing"] {
  const { signing: format = old?.format, "signing-key": given } = values;
  if (format === "none") return undefined;
  if (format === undefined) {
    if (given === undefined) return undefined;
    throw new TrunklineError(
      "usage",
      "Cannot use --signing-key alone: add --signing openpgp or --signing ssh",
    );
  }
  // A key of one format cannot sign in the other.
  const { key: former, ...rest } = old?.format === format ? old : { format, key: undefined };
  const isFile = format === "ssh" && given !== undefined && !/^(?:key::|ssh-|$)/.test(given);
  const key = given === "" ? undefined : ((isFile ? keyFile(given, invocation) : given) ?? former);
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
function keyFile(text: string | undefined, { cwd }: Invocation): string | undefined {
  if (text === undefined || text === "" || text.startsWith("~/")) return text;
  return resolve(cwd, text);
}

function ruleOf(text: string, invocation: Invocation): MatchRule {
  const rule: { -readonly [Key in keyof MatchRule]: MatchRule[Key] } = {};
  for (const part of text.split(",")) {
    const [, key = "", value = ""] = /^(host|owner|path|remote)=(.+)$/.exec(part.trim()) ?? [];
    if (key === "") {
      const why = "write path=DIR, host=HOST, owner=OWNER or remote=URL, joined by commas";
      throw new TrunklineError("usage", `Cannot read the match rule '${text}': ${why}`);
    }
    const home = homeOf(invocation.env);
    const folder = value.startsWith("~/") ? value : resolve(invocation.cwd, value);
    rule[key as keyof MatchRule] =
      key === "path" ? folder.replace(new RegExp(`^${RegExp.escape(home)}(?=/)`), "~") : value;
  }
  return rule;
}

const QUESTIONS = [
  { key: "provider", says: "Provider (github, gitlab, bitbucket, other)" },
  { key: "user", says: "Account name" },
  { key: "email", says: "Email address for commits" },
  { key: "ssh-key", says: "Private SSH key (empty for none)" },
] as const;

/** Asks for missing settings, if a person is at the terminal. */
async function askMissing(invocation: Invocation<FactValues>): Promise<FactValues> {
  const { values } = invocation;
  const missing = QUESTIONS.filter(({ key }) => values[key] === undefined);
  const isNeeded = missing.some(({ key }) => key !== "ssh-key");
  if (!isNeeded || values.json || !process.stdin.isTTY || !process.stderr.isTTY) return values;
  // stdout may be read by a program, so the questions go to stderr.
  using lines = createInterface({ input: process.stdin, output: process.stderr });
  // One iterator for all questions: a new one for each would lose lines that were typed ahead.
  const typed = lines[Symbol.asyncIterator]();
  const answers: Record<string, string> = {};
  for (const { key, says } of missing) {
    lines.setPrompt(`${says}: `);
    lines.prompt();
    const line = await typed.next();
    if (line.done)
      throw new TrunklineError(
        "cancelled",
        "No identity was added: the input ended before all questions were answered",
      );
    const answer = line.value.trim();
    if (key === "provider" && !/^(?:github|gitlab|bitbucket|other)$/.test(answer)) {
      throw new TrunklineError(
        "usage",
        `Cannot use provider '${answer}': it is one of github, gitlab, bitbucket, other`,
      );
    }
    if (answer !== "") answers[key] = answer;
  }
  return { ...values, ...answers };
}

/** `trunkline identity import FILE` */
export async function importFile(
  invocation: Invocation<OptionValues<never, "force" | "dry-run">>,
): Promise<number> {
  const { values, positionals, cwd } = invocation;
  const file = resolve(cwd, positionals[0] ?? "");
  const identities = await openIdentities(invocation);
  const read = identities.readJuggler(await readGivenFile(invocation, file), file);
  const names = Object.keys(read.identities);
  const known = names.filter((name) => identities.list.some((each) => each.name === name));
  if (known.length > 0 && values.force !== true) {
    const says = `these identities exist already: ${known.join(", ")}`;
    throw new TrunklineError(
      "usage",
      `Cannot import '${file}': ${says}. Replace them with --force`,
    );
  }
  if (values["dry-run"] !== true) await identities.importAll(read);
  const { secrets } = read;
  const done = values["dry-run"] ? "Would import" : "Imported";
  const notes = secrets.map(
    (secret) => `Did not import '${secret}': a configuration file must not contain secrets.`,
  );
  return print(
    invocation,
    { imported: names, secrets, dryRun: values["dry-run"] === true },
    `${done} ${names.length === 0 ? "no identities" : names.join(", ")}.\n`,
    { notes },
  );
}

/** `trunkline identity export` */
export async function exportFile(invocation: Invocation): Promise<number> {
  return printJson(invocation, (await openIdentities(invocation)).exportJuggler());
}
