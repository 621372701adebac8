import { selfCommand } from "../base/process/self-command.ts";
import { expandPath } from "../config/locations.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Invocation, OptionValues } from "../cli/shell/command.ts";
import { isSet } from "../cli/shell/host.ts";
import { carryOut, type Change, type ChangeValues, openFile, presentIn } from "./change.ts";
import { ClaudeCommand } from "./claude-command.ts";
import { isMap } from "./format/format.ts";
import { accessFor, endAccess, type GatewayAccess, oneAtATime } from "./gateway-access.ts";
import { placesOf } from "./places.ts";
import { checkOurs, type ProgramFile, takeBackup } from "./program-file.ts";
import type { StartCommand, Target } from "./targets.ts";

export type ProgramValues = ChangeValues & OptionValues<"config" | "data", "http">;

/** `trunkline setup TARGET` for a program that has an entry for us. */
export async function setUpProgram(
  invocation: Invocation<ProgramValues>,
  target: Target,
): Promise<number> {
  const { values } = invocation;
  if (values.http === true && target.noHttp !== undefined) {
    const says = `Cannot set up ${target.label} over HTTP: ${target.noHttp}.`;
    throw new TrunklineError("usage", `${says} Without --http it starts Trunkline itself.`);
  }
  const needsToken = values.http === true && values.print !== true && values["dry-run"] !== true;
  if (needsToken) await oneAtATime(invocation, () => writeEntries(invocation, target));
  else await writeEntries(invocation, target);
  return 0;
}

async function writeEntries(invocation: Invocation<ProgramValues>, target: Target): Promise<void> {
  const { values, env, out } = invocation;
  const file = openFile(target.file(placesOf(env)), values);
  const wanted = changeFor(invocation, target, file);
  const present = presentIn(wanted);
  const isTrial = values.print === true || values["dry-run"] === true;
  const needsAccess = values.http === true && values.remove !== true;
  const access = needsAccess
    ? await accessFor(invocation, target.name, { present, isTrial })
    : undefined;
  const change = access === undefined ? wanted : changeFor(invocation, target, file, access);
  let isChanged: boolean;
  try {
    isChanged = await carryOut(invocation, change);
  } catch (error) {
    if (access?.isNew === true) await endAccess(invocation, target.name, access);
    throw error;
  }
  if (isChanged && !needsAccess) await endAccess(invocation, target.name, present);
  if (isChanged && values.remove !== true && values.json !== true) {
    for (const note of [access?.note, target.note]) if (note !== undefined) out(`${note}\n`);
  }
}

/** The change that sets a program up, or takes it back. */
export function changeFor(
  invocation: Invocation<ProgramValues>,
  target: Target,
  file: ProgramFile,
  access?: GatewayAccess,
): Change {
  const { values } = invocation;
  const edits = target.entries.map(({ role, path, stdio, http }) => {
    if (values.remove === true) return { path, entry: undefined };
    const isHttp = access !== undefined && http !== undefined;
    const entry = isHttp
      ? http(access.url, access.authorization)
      : stdio(startCommand(invocation, role));
    return { path, entry };
  });
  const what = edits.map(({ path }) => `'${path.join(".")}'`).join(" and ");
  const isSecret = access !== undefined;
  const change: Change = {
    file,
    format: target.format,
    edits,
    start: target.start,
    what,
    isSecret,
  };
  const isClaude = target.name === "claude-code" && access === undefined;
  return isClaude ? { ...change, write: writeByClaude(invocation, change) } : change;
}

/** What starts Trunkline with the configuration and data that this command has. */
function startCommand(
  { values, env, cwd }: Invocation<ProgramValues>,
  role: "mcp" | "acp",
): StartCommand {
  const [command, ...words] = selfCommand();
  const { TRUNKLINE_CONFIG, TRUNKLINE_DATA } = env;
  const config = values.config ?? TRUNKLINE_CONFIG;
  const data = values.data ?? TRUNKLINE_DATA;
  const options = Object.entries({ config, data }).flatMap(([name, path]) =>
    isSet(path) ? [`--${name}`, expandPath(path, cwd, env)] : [],
  );
  return { command, args: [...words, role, ...options] };
}

function writeByClaude(
  invocation: Invocation<ProgramValues>,
  change: Change,
): (() => Promise<void>) | undefined {
  const { env, values } = invocation;
  const isThere = presentIn(change).some(isMap);
  // Its command replaces an entry whole, with what a person has added to it.
  if (isThere && values.remove !== true) return undefined;
  const claude = ClaudeCommand.find(env);
  if (claude === undefined) return undefined;
  return async () => {
    checkOurs(change.file);
    await takeBackup(change.file);
    if (isThere) await claude.remove("trunkline");
    else await claude.add("trunkline", startCommand(invocation, "mcp"));
  };
}
