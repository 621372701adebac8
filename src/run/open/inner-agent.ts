import { dirname } from "node:path";

import { ExternalAgent, type ExternalAgentOptions } from "../../agent/external-agent.ts";
import { TrunklineError } from "../../base/errors.ts";
import { selfCommand } from "../../base/process/self-command.ts";
import { BUILT_IN } from "../../config/config.ts";
import type { AppContext } from "../../config/app-context.ts";
import { openConfinedAgent } from "./confined-agent.ts";
import { modelServices } from "./model-services.ts";
import type { Run } from "../run.ts";
import type { InnerAgent } from "../spares.ts";
import type { SandboxParts } from "../../sandbox/probe.ts";

export interface InnerAgentOptions {
  readonly run: Run;
  /** Undefined if runs have no sandbox (`remote.sandbox`). */
  readonly parts: SandboxParts | undefined;
}

/**
 * The agent that works in a run. Even the built-in agent is started as a separate program, so that
 * everything it reads and runs is inside the sandbox.
 */
export async function innerAgent(
  { config, log }: AppContext,
  name: string,
  { run, parts }: InnerAgentOptions,
): Promise<InnerAgent> {
  const settings = name === BUILT_IN ? builtIn(config, parts) : config.agents[name];
  if (settings === undefined) {
    throw new TrunklineError(
      "not-found",
      `Cannot find agent '${name.slice(0, 100)}'. \`trunkline agent list\` shows the configured agents.`,
    );
  }
  const limits = config.limits.messages;
  const agent: ExternalAgentOptions = { ...settings, name, limits, log };
  if (parts === undefined) return new ExternalAgent(agent);
  return await openConfinedAgent({
    run,
    parts,
    agent,
    needs:
      name === BUILT_IN
        ? selfCommand()
            .slice(1)
            .map((path) => dirname(path))
        : [],
    allowHosts: config.remote.egress.allowHosts,
    models: modelServices(process.env),
  });
}

/**
 * It cannot read the configuration in its sandbox, so it is told the prices of models, and that its commands
 * are in a sandbox already.
 */
function builtIn(
  { models: { cost } }: AppContext["config"],
  parts: SandboxParts | undefined,
): Pick<ExternalAgentOptions, "command" | "args" | "env"> {
  const [command, ...args] = selfCommand();
  const set = [
    ...(Object.keys(cost).length === 0 ? [] : ["--set", `models.cost=${JSON.stringify(cost)}`]),
    ...(parts === undefined ? [] : ["--set", "agent.sandbox=off"]),
  ];
  return { command, args: [...args, "acp", "--agent", BUILT_IN, ...set] };
}
