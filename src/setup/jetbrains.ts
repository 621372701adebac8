import { TrunklineError } from "../base/errors.ts";
import { visibleLine } from "../base/text/visible.ts";
import { readSecret } from "../cli/shell/ask.ts";
import type { Invocation, OptionValues } from "../cli/shell/command.ts";
import { readGatewayUrl } from "../cli/shell/gateway-url.ts";
import { carryOut, type Change, type ChangeValues, openFile, presentIn } from "./change.ts";
import { isMap, type KeyPath } from "./format/format.ts";
import { placesOf } from "./places.ts";
import type { Target } from "./targets.ts";

export type JetbrainsValues = ChangeValues & OptionValues<"remote" | "name">;

/**
 * `trunkline setup jetbrains --remote URL`, and with --remove: a server among the agents. Without
 * --remote, --remove takes away the entry of this machine as well.
 */
export async function setupJetbrains(
  invocation: Invocation<JetbrainsValues>,
  target: Target,
): Promise<number> {
  const { values, env, out, err } = invocation;
  const { remote, name = "Trunkline", remove = false } = values;
  const key: KeyPath = ["remote", name];
  const file = openFile(target.file(placesOf(env)), values);
  const common = { file, format: target.format, what: `'${visibleLine(name)}'`, isSecret: true };
  if (remove) {
    const local = remote === undefined ? target.entries.map(({ path }) => path) : [];
    const edits = [key, ...local].map((path) => ({ path, entry: undefined }));
    await carryOut(invocation, { ...common, edits });
    return 0;
  }
  const { url, warning } = readGatewayUrl(remote ?? "");
  if (warning !== undefined) err(`${warning}\n`);
  const known = { ...common, edits: [{ path: key, entry: undefined }] };
  const token = (await tokenFrom(invocation)) ?? tokenOf(known, url);
  const entry = token === undefined ? { url } : { url, token };
  await carryOut(invocation, { ...common, edits: [{ path: key, entry }] });
  if (token === undefined && values.json !== true) {
    out(
      "It has no token yet. On the server, `trunkline token create NAME --scope sessions` makes " +
        "one; give it to this command on its standard input, or in TRUNKLINE_TOKEN.\n",
    );
  }
  return 0;
}

/** The token that the file has for the same server. */
function tokenOf(change: Change, url: string): string | undefined {
  const [entry] = presentIn(change);
  const isSame = isMap(entry) && entry.url === url && typeof entry.token === "string";
  return isSame ? (entry.token as string) : undefined;
}

/** Never from an argument, which others on the machine can read. */
async function tokenFrom({
  env,
  values,
}: Invocation<JetbrainsValues>): Promise<string | undefined> {
  const { TRUNKLINE_TOKEN } = env;
  if (values.print === true || values["dry-run"] === true) return undefined;
  const given = TRUNKLINE_TOKEN ?? (await readSecret("Token (empty for none): "));
  return given.trim() === "" ? undefined : given.trim();
}

/** Says which of its options go together. */
export function checkJetbrains({ remote, name, remove }: JetbrainsValues): void {
  if (name === undefined || remote !== undefined || remove === true) return;
  const says = "Cannot use --name without --remote: it is the name of a server.";
  throw new TrunklineError("usage", says);
}
