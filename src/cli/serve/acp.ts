import { serveAcpOnStdio, serveJugglerOnStdio } from "../../app/door/acp-on-stdio.ts";
import { repairIdentities } from "../../identity/switch/repair.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openLastingApp } from "../shell/open-app.ts";

type AcpValues = OptionValues<"agent" | "login", "worktree"> & { readonly dialect: string };

/** `trunkline acp` */
export async function run(invocation: Invocation<AcpValues>): Promise<number> {
  const { agent, dialect, worktree, login } = invocation.values;
  const app = await openLastingApp(invocation);
  if (login !== undefined) {
    const { logIn } = await import("./login.ts");
    return await logIn(login, app.config);
  }
  await using _repair = repairIdentities(app.config.data, app.log);
  if (dialect === "juggler") await serveJugglerOnStdio(app);
  else await serveAcpOnStdio(app, { agent, worktree, hasActions: dialect !== "acp" });
  return 0;
}
