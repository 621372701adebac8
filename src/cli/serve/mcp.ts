import { TrunklineError } from "../../base/errors.ts";
import { repairIdentities } from "../../identity/switch/repair.ts";
import { serveMcpOnStdio } from "../../app/door/mcp-on-stdio.ts";
import type { AppContext } from "../../config/app-context.ts";
import { gatewaySockets } from "../../server/relay/gateway-sockets.ts";
import type { Invocation } from "../shell/command.ts";
import { openLastingApp } from "../shell/open-app.ts";

/** `trunkline mcp` */
export async function run(invocation: Invocation): Promise<number> {
  const app = await openLastingApp(invocation);
  await using _repair = repairIdentities(app.config.data, app.log);
  const { "orchestrator-addr": address, "certs-dir": certsDir } = invocation.values;
  const profile = profileOf(invocation, app);
  if (typeof address === "string") {
    const { serveBridge } = await import("../../app/door/mcp-bridge.ts");
    await serveBridge(app, {
      address,
      certsDir: typeof certsDir === "string" ? certsDir : undefined,
      tell: (line) => invocation.err(`trunkline: ${line}\n`),
    });
  } else if (certsDir === undefined) await serve(app, invocation.env, profile);
  else {
    const why = "certificates are only for a plugin bus";
    const says = `Cannot use '--certs-dir': ${why}. Add '--orchestrator-addr'.`;
    throw new TrunklineError("usage", says);
  }
  return 0;
}

/** Relays to a running gateway of the data folder if it has the same settings; otherwise serves by itself. */
async function serve(
  app: AppContext,
  env: NodeJS.ProcessEnv,
  profile: string | undefined,
): Promise<void> {
  const sockets = gatewaySockets(app.config.data);
  // With --verbose, every message is logged here too.
  if (sockets.length > 0 && !app.config.log.verbose) {
    const { relayStdio } = await import("../../app/door/relay-stdio.ts");
    if (await relayStdio(app, sockets, env, profile)) return;
  }
  await serveMcpOnStdio(app, profile);
}

/** The client's profile. An unknown name is refused at the start, where a person sees the error. */
function profileOf({ values }: Invocation, { config }: AppContext): string | undefined {
  const { profile, "orchestrator-addr": address } = values;
  if (typeof profile !== "string") return undefined;
  if (address !== undefined) {
    const why = "the tools of a plugin bus have no profiles";
    throw new TrunklineError("usage", `Cannot use '--profile' with '--orchestrator-addr': ${why}.`);
  }
  const names = Object.keys(config.profiles);
  if (names.includes(profile)) return profile;
  const there = `Profiles in the configuration: ${names.join(", ") || "none"}.`;
  throw new TrunklineError("usage", `Cannot use the profile '${profile}': there is none. ${there}`);
}
