import { homeOf } from "../../base/process/environment.ts";
import { runOrchestrator } from "../../app/bus/run-orchestrator.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openLastingApp } from "../shell/open-app.ts";

type OrchestratorValues = OptionValues<"listen" | "certs-dir" | "config">;

/** `trunkline orchestrator` */
export async function run(invocation: Invocation<OrchestratorValues>): Promise<number> {
  const signalled = untilSignal();
  const { values, cwd, env, out, err } = invocation;
  const isYaml = /\.ya?ml$/i.test(values.config ?? "");
  // Orchestra's file lists plugins only; all other settings come from the usual configuration.
  const app = await openLastingApp({
    ...invocation,
    values: { ...values, config: isYaml ? undefined : values.config },
  });
  await using orchestrator = await runOrchestrator(app, {
    listen: values.listen,
    certsDir: values["certs-dir"],
    pluginsFile: isYaml ? values.config : undefined,
    cwd,
    home: homeOf(env),
    warn: (message) => err(`trunkline: warning: ${message}\n`),
  });
  const { address, certsDir } = orchestrator;
  const addr = address.replace(/^quic:\/\//, "");
  if (values.json === true) out(`${JSON.stringify({ ready: true, addr, pid: process.pid })}\n`);
  else {
    out(`The plugin bus listens on ${address}. Its certificates are in ${certsDir}.\n`);
    out(`List its plugins with: trunkline plugin list --orchestrator-addr ${addr}\n`);
  }
  await signalled;
  return 0;
}
