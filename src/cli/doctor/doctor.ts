import type { LoadedConfig } from "../../gateway/config/config.ts";
import type { Invocation } from "../shell/command.ts";
import { configFlags } from "../shell/open-house.ts";
import { checkAccess } from "./access.ts";
import { checkConfig } from "./config.ts";
import { checkData } from "./data.ts";
import { checkModels } from "./models.ts";
import { checkGit, checkNode } from "./programs.ts";
import { checkPort } from "./port.ts";
import { checkRuns } from "./runs.ts";
import { checkBus, checkServers } from "./servers.ts";
import { checkSandbox } from "./sandbox.ts";
import { checkStart } from "./start.ts";
import { paint } from "../shell/style.ts";

/** What a check found. */
export interface Finding {
  /** "warn": works, with a drawback. "fail": does not work. */
  readonly state: "ok" | "warn" | "fail";
  readonly what: string;
  readonly says: string;
  /** What to do about it. */
  readonly next?: string;
}

/** `trunkline doctor` */
export async function run(invocation: Invocation): Promise<number> {
  const findings: Finding[] = [];
  const print = (finding: Finding): void => {
    findings.push(finding);
    if (invocation.values.json !== true) invocation.out(lineOf(finding, invocation.color));
  };
  for await (const finding of examine(invocation)) print(finding);
  const ok = findings.every(({ state }) => state !== "fail");
  if (invocation.values.json === true) {
    invocation.out(`${JSON.stringify({ ok, findings }, null, 2)}\n`);
  }
  return ok ? 0 : 1;
}

async function* examine(invocation: Invocation): AsyncGenerator<Finding> {
  const { cwd, env } = invocation;
  yield checkNode(process.versions.node);
  yield checkGit(cwd, env);
  const flags = configFlags(invocation.values);
  const { findings, loaded } = await checkConfig({ cwd, env, flags });
  yield* findings;
  // The other checks need a configuration.
  if (loaded !== undefined) yield* examineHouse(invocation, loaded);
}

async function* examineHouse(
  invocation: Invocation,
  loaded: LoadedConfig,
): AsyncGenerator<Finding> {
  const { config } = loaded;
  yield* await checkData(config.data);
  yield* await checkStart(invocation);
  yield await checkPort(config);
  yield* await checkAccess(config);
  yield* await checkServers(invocation);
  yield* await checkBus(invocation, loaded);
  yield* await checkModels(loaded, invocation.env);
  yield* await checkRuns(config, invocation.env);
  yield await checkSandbox(config);
}

const STYLES = { ok: "green", warn: "yellow", fail: "red" } as const;

function lineOf({ state, what, says, next }: Finding, color: boolean): string {
  const word = state.padEnd(4);
  const shown = paint(STYLES[state], word, color);
  const advice = next === undefined ? "" : `     ${next}\n`;
  return `${shown} ${what}: ${says}\n${advice}`;
}
