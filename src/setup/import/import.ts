import { chmodSync, statSync } from "node:fs";

import { TrunklineError } from "../../base/errors.ts";
import { MASK } from "../../base/text/held-secrets.ts";
import { maskAll, maskWhole } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { editConfigFile } from "../../config/file/edit-file.ts";
import { userFile } from "../../config/locations.ts";
import { hashToken } from "../../store/access/access-token.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { confirm } from "../../cli/shell/ask.ts";
import type { Invocation } from "../../cli/shell/command.ts";
import { configFlags, openQuietApp } from "../../cli/shell/open-app.ts";
import { placesOf } from "../places.ts";
import { TARGETS } from "../targets.ts";
import { type Candidate, collectServers } from "./collect.ts";
import type { OwnServer } from "./foreign-server.ts";
import { counted } from "../../cli/shell/layout.ts";

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
  const { config } = await openQuietApp(invocation);
  const { path: file } = userFile({ cwd, env, flags: configFlags(invocation.values) });
  const known = config.mcpServers as Readonly<Record<string, OwnServer>>;
  const hashes = new Set(new AccessTokens(config.data).list().map(({ sha256 }) => sha256));
  const isOwnToken = (token: string): boolean => hashes.has(hashToken(token));
  const places = placesOf(env);
  const { candidates, problems } = collectServers(targets, places, known, isOwnToken);
  for (const problem of problems) err(`${visibleLine(problem)}\n`);
  const fresh = candidates.filter((each) => each.server !== undefined && !each.isKnown);
  const isAsking = values.yes !== true && values["dry-run"] !== true;
  if (values.json !== true || isAsking) {
    const show = values.json === true ? err : out;
    show(candidates.length === 0 ? "No MCP servers were found.\n" : listOf(candidates));
  }
  const isAgreed = fresh.length > 0 && (await agrees(invocation, fresh, file));
  if (isAgreed) await addServers(file, fresh, { env, data: config.data });
  if (values.json === true) {
    const servers = candidates.map((each) => ({
      ...each,
      server: undefined,
      takes: takenOf(each),
    }));
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
  const lines = candidates.flatMap((each) => [lineOf(each), ...takenLines(each)]);
  return lines.map((line) => `${visibleLine(line)}\n`).join("");
}

function lineOf({ name, program, server, problem, isKnown, leftOut }: Candidate): string {
  const head = `${name} (${program}): `;
  if (isKnown) return `${head}already there`;
  if (server === undefined) return `${head}not taken over, because ${problem ?? ""}`;
  const what = "url" in server ? server.url : [server.command, ...(server.args ?? [])].join(" ");
  const rest = leftOut.length === 0 ? "" : `; left out: ${leftOut.join(", ")}`;
  return `${head}${maskWhole(what)}${rest}`;
}

/** How each field is called that is taken over in addition to the command or the address. */
const TAKEN: Readonly<Record<string, string>> = {
  cwd: "in the folder",
  env: "with variables",
  headers: "with headers",
  autoApprove: "CALLED WITHOUT ASKING",
  timeout: "milliseconds for a call",
  type: "transport",
};

/** All that a person agrees to, so that nothing is taken over which was not shown. */
function takenLines(candidate: Candidate): string[] {
  if (candidate.isKnown) return [];
  return Object.entries(takenOf(candidate)).map(([field, value]) => {
    const words =
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.entries(value).map(([name, text]) => `${name}=${String(text)}`)
        : [value].flat();
    return `  ${TAKEN[field] ?? field}: ${words.join(", ")}`;
  });
}

function takenOf({ server, secrets }: Candidate): Readonly<Record<string, unknown>> {
  if (server === undefined) return {};
  const inFirstLine = new Set(["command", "args", "url"]);
  const rest = Object.entries(server).filter(([field]) => !inFirstLine.has(field));
  const shown = rest.map(([field, value]) => {
    if (field !== "env" && field !== "headers") return [field, maskAll(value)] as const;
    const pairs = Object.entries(value as Readonly<Record<string, string>>).map(([name, text]) => {
      return [name, secrets.includes(`${field}.${name}`) ? MASK : maskWhole(text)] as const;
    });
    return [field, Object.fromEntries(pairs)] as const;
  });
  return Object.fromEntries(shown);
}
