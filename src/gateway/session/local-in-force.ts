import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { CommandSandbox } from "../../sandbox/command-sandbox.ts";
import { EgressProxy } from "../../sandbox/egress-proxy.ts";
import { remedyFor, thisMachine } from "../../sandbox/remedy.ts";
import type { Config } from "../config/config.ts";
import { sandboxPrograms } from "./local-sandbox.ts";

/** The sandbox of commands or plugins as `trunkline doctor` reports it. */
export interface InForce {
  /** "fail": they do not run. "warn": they run without a sandbox. */
  readonly state: "ok" | "warn" | "fail";
  readonly says: string;
  /** The command or the setting that fixes it. */
  readonly next?: string;
}

/** Tests which protection commands of local sessions have. */
export async function localInForce(
  { agent }: Pick<Config, "agent">,
  tryOut: () => Promise<string | undefined> = problemOfCommands,
): Promise<InForce> {
  if (agent.sandbox === "off") {
    const says =
      "off: commands can do everything that you can, and can read keys of models from /proc";
    return { state: "warn", says, next: "Set `agent.sandbox` to `auto`." };
  }
  const problem = await tryOut();
  if (problem === undefined) {
    const says = "in force: own processes and network, secrets hidden, seccomp";
    return { state: "ok", says: `${says} (\`agent.sandbox\` is \`${agent.sandbox}\`)` };
  }
  const without =
    agent.sandbox === "on"
      ? "commands do not run"
      : "commands run without one, and can read keys of models from /proc";
  const state = agent.sandbox === "on" ? "fail" : "warn";
  const next = remedyFor(problem, thisMachine());
  return { state, says: `none, so ${without}: ${problem}`, next };
}

/** Tests which protection plugins with permissions have. */
export async function pluginsInForce(
  { bus }: Pick<Config, "bus">,
  tryOut: () => Promise<string | undefined> = problemOfCommands,
): Promise<InForce> {
  if (bus.sandbox === "off") {
    const says = "off: plugins reach every host, and every socket of this machine";
    return { state: "warn", says, next: "Set `bus.sandbox` to `auto`." };
  }
  const problem = await tryOut();
  if (problem === undefined) {
    const says = "in force: plugins with permissions reach only the approved hosts";
    return { state: "ok", says: `${says} (\`bus.sandbox\` is \`${bus.sandbox}\`)` };
  }
  const without =
    bus.sandbox === "on"
      ? "plugins with permissions are not started"
      : "plugins reach every host, and every socket of this machine";
  const state = bus.sandbox === "on" ? "fail" : "warn";
  const next = remedyFor(problem, thisMachine());
  return { state, says: `none, so ${without}: ${problem}`, next };
}

async function problemOfCommands(): Promise<string | undefined> {
  const data = mkdtempSync(join(tmpdir(), "trunkline-doctor-"));
  const removeData = (): void => rmSync(data, { recursive: true, force: true });
  // On a busy machine `trunkline doctor` gives this check up, and exits before it is over.
  process.once("exit", removeData);
  try {
    using egress = new EgressProxy({ allowHosts: [], setting: "" });
    const files = { write: [], keep: [], hide: [], show: [] };
    const options = { ...sandboxPrograms(), data, egress, files: () => files };
    await using _ = await CommandSandbox.open(options);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    process.off("exit", removeData);
    removeData();
  }
}
