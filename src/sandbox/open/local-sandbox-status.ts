import { existsSync } from "node:fs";

import { remedyFor, thisMachine } from "../remedy.ts";
import type { Config } from "../../config/config.ts";
import { problemOfMachine, workedFile } from "./local-sandbox.ts";

/** The sandbox of commands or plugins as `trunkline doctor` reports it. */
export interface SandboxStatus {
  /** "fail": they do not run. "warn": they run without a sandbox. */
  readonly state: "ok" | "warn" | "fail";
  readonly says: string;
  /** The command or the setting that fixes it. */
  readonly next?: string;
}

/** What is said of a sandbox. */
interface StatusWords {
  readonly setting: string;
  readonly off: string;
  readonly inForce: string;
  /** What happens without a sandbox, by the setting. */
  readonly without: Readonly<Record<"auto" | "on", string>>;
}

const COMMANDS: StatusWords = {
  setting: "agent.sandbox",
  off: "commands can do everything that you can, and can read keys of models from /proc",
  inForce: "own processes and network, secrets hidden, seccomp",
  without: {
    auto: "commands run without one, each after a question, and can read keys of models from /proc",
    on: "commands do not run",
  },
};

const NOT_STARTED = "only plugins that may do everything are started";
const PLUGINS: StatusWords = {
  setting: "bus.sandbox",
  off: "plugins run with all of your rights",
  inForce: "plugins can do only what was approved",
  without: { auto: NOT_STARTED, on: NOT_STARTED },
};

/** Says why no sandbox can be made here; undefined if one can. */
export type SandboxTrial = () => Promise<string | undefined>;

/** Tests which protection commands of local sessions have. */
export function localSandboxStatus(
  { agent, data }: Pick<Config, "agent" | "data">,
  tryOut: SandboxTrial = tryOutSandbox,
): Promise<SandboxStatus> {
  // Where it has worked, commands are not run without it.
  const isNeeded = agent.sandbox === "on" || existsSync(workedFile(data));
  return inForce(agent.sandbox, COMMANDS, tryOut, isNeeded);
}

/** Tests which protection plugins with permissions have. */
export function pluginSandboxStatus(
  { bus }: Pick<Config, "bus">,
  tryOut: SandboxTrial = tryOutSandbox,
): Promise<SandboxStatus> {
  return inForce(bus.sandbox, PLUGINS, tryOut, bus.sandbox === "on");
}

async function inForce(
  wanted: "auto" | "on" | "off",
  words: StatusWords,
  tryOut: SandboxTrial,
  isNeeded: boolean,
): Promise<SandboxStatus> {
  const setting = `\`${words.setting}\``;
  if (wanted === "off") {
    return { state: "warn", says: `off: ${words.off}`, next: `Set ${setting} to \`auto\`.` };
  }
  const problem = await tryOut();
  if (problem === undefined) {
    return { state: "ok", says: `in force: ${words.inForce} (${setting} is \`${wanted}\`)` };
  }
  const [state, without] = isNeeded ? (["fail", "on"] as const) : (["warn", "auto"] as const);
  const next = remedyFor(problem, thisMachine());
  return { state, says: `none, so ${words.without[without]}: ${problem}`, next };
}

export async function tryOutSandbox(): Promise<string | undefined> {
  try {
    return await problemOfMachine();
  } catch (error) {
    return (error as Error).message;
  }
}
