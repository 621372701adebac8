import { serveAcpOnStdio, serveJugglerOnStdio } from "../../app/door/acp-on-stdio.ts";
import { repairIdentities } from "../../identity/switch/repair.ts";
import type { Invocation } from "../shell/command.ts";
import { openLastingApp } from "../shell/open-app.ts";

interface AcpValues {
  readonly agent?: string;
  readonly dialect: string;
  readonly worktree?: boolean;
  readonly [option: string]: string | boolean | undefined;
}

/** `trunkline acp` */
export async function run(invocation: Invocation<AcpValues>): Promise<number> {
  const { agent, dialect, worktree } = invocation.values;
  const app = await openLastingApp(invocation);
  await using _repair = repairIdentities(app.config.data, app.log);
  if (dialect === "juggler") await serveJugglerOnStdio(app);
  else await serveAcpOnStdio(app, { agent, worktree, hasActions: dialect !== "acp" });
  return 0;
}
