import { text } from "node:stream/consumers";

import { TrunklineError } from "../../base/errors.ts";
import { askSecret } from "../shell/ask.ts";

/** How the values are read that are not on the command line. */
export type ReadSecrets = (names: readonly string[]) => Promise<readonly string[]>;

/**
 * Reads `NAME=VALUE` of options; a header may also be `NAME: VALUE`. The value of a name alone is a
 * secret: it is asked for at a terminal, or is a line of standard input.
 */
export async function readPairs(
  option: "--env" | "--header",
  given: readonly string[] = [],
  secrets: ReadSecrets = readSecrets,
): Promise<Record<string, string>> {
  const separator = option === "--env" ? /=/ : /=|:\s*/;
  const pairs = given.map((each): [string, string | undefined] => {
    const at = each.search(separator);
    if (at < 0) return [each, undefined];
    return [each.slice(0, at).trim(), each.slice(at).replace(separator, "")];
  });
  for (const [name] of pairs) {
    if (/^[\w.-]+$/.test(name)) continue;
    throw new TrunklineError("usage", `Cannot read '${option} ${name}': write it as NAME=VALUE.`);
  }
  const unknown = pairs.filter(([, value]) => value === undefined).map(([name]) => name);
  const answers = unknown.length === 0 ? [] : await secrets(unknown);
  const entries = pairs.map(([name, value]) => [
    name,
    value ?? answers[unknown.indexOf(name)] ?? "",
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

async function readSecrets(names: readonly string[]): Promise<readonly string[]> {
  if (process.stdin.isTTY) {
    const answers: string[] = [];
    for (const name of names) answers.push(await askSecret(`${name}: `));
    return answers;
  }
  const lines = (await text(process.stdin)).split(/\r?\n/).filter((line) => line !== "");
  if (lines.length === names.length) return lines;
  const says = `standard input has ${lines.length} lines, but ${names.length} are needed: one for each of ${names.join(", ")}`;
  throw new TrunklineError("usage", `Cannot read the values: ${says}.`);
}
