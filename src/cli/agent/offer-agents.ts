import { addAgent, offeredAgents } from "../../agent/open/offered-agents.ts";
import type { AppContext } from "../../config/app-context.ts";
import { inputOf } from "../config/edit-entry.ts";
import { confirm } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";

/**
 * Where the built-in agent would work without a model, offers a person at a terminal the agents that are
 * installed. Returns the one that was added to their configuration, which has to be loaded again then.
 */
export async function offerAgent(
  invocation: Invocation,
  { config, log }: AppContext,
  wanted: string | undefined,
  ask: (question: string) => Promise<boolean> = confirm,
): Promise<string | undefined> {
  const { env, err, values, isTerminal } = invocation;
  if (!process.stdin.isTTY || !isTerminal || values.json === true) return undefined;
  for (const agent of await offeredAgents({ config, log, env, wanted })) {
    const { name, path, command, args } = agent;
    const line = [command, ...args].join(" ");
    const asked =
      `No language model is set up, but ${name} is installed (${path}).\n` +
      `Add it to your configuration, for this and new sessions? It runs: ${line}`;
    if (!(await ask(asked))) continue;
    const edited = await addAgent(inputOf(invocation), agent);
    for (const note of edited.notes) err(`note: ${note}\n`);
    err(`Added agent '${name}' to ${edited.file}.\n`);
    return name;
  }
  return undefined;
}
