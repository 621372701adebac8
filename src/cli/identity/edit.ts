import { resolve } from "node:path";
import { createInterface } from "node:readline";

import { TrunklineError } from "../../base/errors.ts";
import { type IdentityFacts, newIdentity, withFacts } from "../../identity/identity-facts.ts";
import { readGivenFile } from "../shell/ask.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openIdentities } from "./identity.ts";
import { print } from "../shell/layout.ts";

type FactValues = OptionValues & IdentityFacts;

/** `trunkline identity add NAME` */
export async function add(invocation: Invocation<FactValues>): Promise<number> {
  const [name = ""] = invocation.positionals;
  const identities = await openIdentities(invocation);
  const values = await askMissing(invocation);
  const settings = newIdentity(name, values, invocation);
  await identities.save(name, settings, true);
  const says = `Added identity '${name}' to ${identities.file}.\n`;
  return print(invocation, { name, ...settings }, says);
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
  const says = `Removed identity '${name}' from ${identities.file}.\n`;
  return print(invocation, { removed: name }, says);
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
    if (line.done) {
      const says = "No identity was added: the input ended before all questions were answered";
      throw new TrunklineError("cancelled", says);
    }
    const answer = line.value.trim();
    if (key === "provider" && !/^(?:github|gitlab|bitbucket|other)$/.test(answer)) {
      const why = `Cannot use provider '${answer}': it is one of github, gitlab, bitbucket, other`;
      throw new TrunklineError("usage", why);
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
    const why = `Cannot import '${file}': ${says}. Replace them with --force`;
    throw new TrunklineError("usage", why);
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
