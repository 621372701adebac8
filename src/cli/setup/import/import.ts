import { chmodSync, statSync } from "node:fs";

import { TrunklineError } from "../../../base/errors.ts";
import { maskText } from "../../../base/text/mask.ts";
import { visibleLine } from "../../../base/text/visible.ts";
import { editConfigFile } from "../../../gateway/config/file/edit-file.ts";
import { userFile } from "../../../gateway/config/locations.ts";
import { hashToken } from "../../../store/access/access-token.ts";
import { AccessTokens } from "../../../store/access/access-tokens.ts";
import { confirm } from "../../shell/ask.ts";
import type { Invocation } from "../../shell/command.ts";
import { configFlags, quietHouse } from "../../shell/open-house.ts";
import { placesOf } from "../places.ts";
import { TARGETS } from "../targets.ts";
import { type Candidate, collectServers } from "./collect.ts";
import type { OwnServer } from "./foreign-server.ts";
import { counted } from "../../shell/layout.ts";

type ImportValues = {
  readonly "dry-run"?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
};

/** `trunkline setup [PROGRAM] --import`: the MCP servers of other programs into our configuration. */
export async function importServers(
  invocation: Invocation<ImportValues>,
  program: string | undefined,
): Promise<number> {
  const { values, env, cwd, out, err } = invocation;
  const targets = TARGETS.filter(({ name }) => program === undefined || name === program);
  if (targets.length === 0) {
    const says = `Cannot import from '${program ?? ""}': it has no file with MCP servers.`;
    throw new TrunklineError("usage", says);
  }
  const { config } = await quietHouse(invocation);
  const { path: file } = userFile({ cwd, env, flags: configFlags(invocation.values) });
  const known = config.mcpServers as Readonly<Record<string, OwnServer>>;
  const hashes = new Set(new AccessTokens(config.data).list().map(({ sha256 }) => sha256));
  const isOwnToken = (token: string): boolean => hashes.has(hashToken(token));
  const places = placesOf(env);
  const { candidates, problems } = collectServers(targets, places, known, isOwnToken);
  for (const problem of problems) err(`${visibleLine(problem)}\n`);
  const fresh = candidates.filter((each) => each.server !== undefined && !each.isKnown);
  if (values.json !== true) {
    out(candidates.length === 0 ? "No MCP servers were found.\n" : listOf(candidates));
  }
  const isAgreed = fresh.length > 0 && (await agrees(invocation, fresh, file));
  if (isAgreed) await addServers(file, fresh, { env, data: config.data });
  if (values.json === true) {
    const servers = candidates.map((each) => ({ ...each, server: undefined }));
    out(`${JSON.stringify({ file, isChanged: isAgreed, servers }, null, 2)}\n`);
  } else if (isAgreed) {
    out(
      `Added ${fresh.map(({ name }) => visibleLine(name)).join(", ")} to ${visibleLine(file)}.\n`,
    );
    out("You can now remove them from the other programs, which get them through Trunkline.\n");
  } else if (fresh.length === 0) out("Nothing to import.\n");
  return problems.length > 0 ? 1 : 0;
}

async function agrees(
  { values, err }: Invocation<ImportValues>,
  fresh: readonly Candidate[],
  file: string,
): Promise<boolean> {
  const secrets = fresh.flatMap(({ name, secrets: all }) => all.map((each) => `${name}: ${each}`));
  if (secrets.length > 0) {
    const where = `to ${visibleLine(file)}, which only you can read`;
    err(`These are secrets, and are copied ${where}:\n`);
    for (const secret of secrets) err(`  ${visibleLine(secret)}\n`);
  }
  if (values["dry-run"] === true) return false;
  if (values.yes === true) return true;
  if (process.stdin.isTTY) return confirm(`Add ${counted(fresh.length, "server")} to ${file}?`);
  const says = "Cannot ask whether to import: this is not a terminal. Agree with --yes.";
  throw new TrunklineError("usage", says);
}

/** The one place where servers are added to our own configuration. */
async function addServers(
  file: string,
  servers: readonly Candidate[],
  options: { readonly env: NodeJS.ProcessEnv; readonly data: string },
): Promise<void> {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  const hasSecrets = servers.some(({ secrets }) => secrets.length > 0);
  if (hasSecrets && mode !== undefined && (mode & 0o077) !== 0) chmodSync(file, mode & 0o700);
  const edits = servers.map(({ name, server }) => ({ path: ["mcpServers", name], value: server }));
  await editConfigFile(file, edits, options);
}

function listOf(candidates: readonly Candidate[]): string {
  return candidates.map((each) => `${lineOf(each)}\n`).join("");
}

function lineOf({ name, program, server, problem, isKnown, leftOut }: Candidate): string {
  const head = `${visibleLine(name)} (${program}): `;
  if (isKnown) return `${head}already there`;
  if (server === undefined) return `${head}not taken over, because ${visibleLine(problem ?? "")}`;
  const what = "url" in server ? server.url : [server.command, ...(server.args ?? [])].join(" ");
  const rest = leftOut.length === 0 ? "" : `; left out: ${leftOut.join(", ")}`;
  return visibleLine(`${head}${maskText(what)}${rest}`);
}
