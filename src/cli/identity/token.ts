import { text as readAll } from "node:stream/consumers";

import { TrunklineError } from "../../base/errors.ts";
import { readSecret } from "../shell/ask.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { NO_IDENTITIES, openCommands } from "./identity.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { linesText, print } from "../shell/layout.ts";

type Setting = OptionValues<"from-env" | "expires", "from-cli" | "no-verify">;

/** `trunkline identity token set NAME` */
export async function set(invocation: Invocation<Setting>): Promise<number> {
  const { values, positionals } = invocation;
  const [name = ""] = positionals;
  await using commands = await openCommands(invocation);
  const identity = commands.identities.find(name);
  const token = await readToken(invocation, () => commands.tokenCommands.ofProgram(identity));
  const kept = await commands.tokenCommands.save(identity, token, {
    verify: values["no-verify"] !== true,
    ...(values.expires === undefined ? {} : { expires: timeOf(values.expires) }),
  });
  const says = `Stored ${kept.token} for '${visibleLine(name)}' in ${visibleLine(kept.where)}.`;
  return print(invocation, kept, linesText([says, ...kept.notes]));
}

/** From a variable, from gh or glab, or from whoever runs the command. */
async function readToken(
  { values, env }: Invocation<Setting>,
  ofProgram: () => Promise<string>,
): Promise<string> {
  const variable = values["from-env"];
  if (variable !== undefined) {
    const token = env[variable];
    if (token !== undefined && token !== "") return token;
    const says = `Cannot read the token: the variable '${variable}' is not set`;
    throw new TrunklineError("usage", says);
  }
  if (values["from-cli"]) return await ofProgram();
  return await readSecret("Token: ");
}

function timeOf(text: string): string {
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new TrunklineError("usage", `Cannot read '${text}' as a date: write it as 2027-01-31`);
}

/** `trunkline identity token get NAME` */
export async function get(invocation: Invocation): Promise<number> {
  const [name = ""] = invocation.positionals;
  await using commands = await openCommands(invocation);
  const found = await commands.tokenCommands.show(commands.identities.find(name));
  const { token, where = "" } = found;
  if (token === undefined) {
    const notes = [`No token is stored for '${visibleLine(name)}'.`];
    return print(invocation, found, "", { notes, code: 1 });
  }
  const notes = [`It is stored in ${visibleLine(where)}.`];
  return print(invocation, found, `${token}\n`, { notes });
}

/** `trunkline identity token clear NAME` */
export async function clear(invocation: Invocation): Promise<number> {
  const [name = ""] = invocation.positionals;
  await using commands = await openCommands(invocation);
  const wasThere = await commands.tokenCommands.clear(commands.identities.find(name));
  const says = wasThere
    ? `Deleted the token of '${visibleLine(name)}'.\n`
    : "No token was stored.\n";
  return print(invocation, { identity: name, cleared: wasThere }, says);
}

/** `trunkline identity token verify [NAME]` */
export async function verify(invocation: Invocation): Promise<number> {
  const { positionals, err } = invocation;
  await using commands = await openCommands(invocation);
  const names =
    positionals.length > 0 ? positionals : commands.identities.list.map(({ name }) => name);
  if (names.length === 0) err(`${NO_IDENTITIES}\n`);
  const found = await Promise.all(
    names.map((name) => commands.tokenCommands.verify(commands.identities.find(name))),
  );
  const store = await commands.tokens.describeStore();
  const lines = found.map(
    ({ identity, says, isOk }) => `${isOk ? "ok  " : "FAIL"} ${visibleLine(identity)}: ${says}`,
  );
  const text = linesText([...lines, `Tokens are stored in ${visibleLine(store)}.`]);
  const code = found.every(({ isOk }) => isOk) ? 0 : 1;
  return print(invocation, { tokens: found, store }, text, { code });
}

/** `trunkline identity credential OPERATION`: called by git, as a credential helper. */
export async function credential(invocation: Invocation): Promise<number> {
  const { positionals, data, err } = invocation;
  const [operation = ""] = positionals;
  // gitcredentials(7), "CUSTOM HELPERS": a helper ignores operations that it does not know.
  if (!["get", "store", "erase"].includes(operation)) return 0;
  const question = await readAll(process.stdin);
  let text = operation === "get" ? "quit=1\n" : "";
  using ends = new DisposableStack();
  ends.defer(() => data(text));
  await using commands = await openCommands(invocation);
  const verdict = await commands.credential(operation, question);
  text = verdict.text;
  if (verdict.refused !== undefined) err(`trunkline: ${verdict.refused}\n`);
  return 0;
}
