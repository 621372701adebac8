import { signal } from "@preact/signals";
import type { JSX } from "preact";

import type { AddedAgent, OfferedAgent, OfferedAgents } from "../../server/dashboard/api.ts";
import { get, post } from "../client/request.ts";
import { act, Button, Command, useLoaded } from "./parts.tsx";

/** What was done last, since the agent is not offered any more then. */
const done = signal("");

/** Agents that are installed, where new sessions would have no language model. */
export function OfferedAgentList(): JSX.Element | null {
  const [found, , reload] = useLoaded(() => get<OfferedAgents>("/agents"), []);
  const agents = found?.agents ?? [];
  if (agents.length === 0 && done.value === "") return null;
  const add = async ({ name, runs }: OfferedAgent): Promise<void> => {
    const { file, notes } = await post<AddedAgent>("/agents/add", { name, runs });
    const next = "New sessions begin with it, those of this server once it is started again.";
    done.value = [`${name} was added to ${file}. ${next}`, ...notes].join(" ");
    reload();
  };
  return (
    <section aria-label="Agents on this machine">
      <h2>Agents on this machine</h2>
      {agents.length === 0 ? null : (
        <p>No language model is set up. One of these can work in your sessions instead:</p>
      )}
      <ul class="command-list">
        {agents.map((agent) => (
          <li key={agent.name}>
            <span class="note">
              {agent.name} is installed ({agent.path}). It runs:
            </span>
            {found?.mayAdd === true ? (
              <div class="command">
                <code>{agent.runs}</code>
                <Button onClick={() => act(() => add(agent))}>Add {agent.name}</Button>
              </div>
            ) : (
              <>
                <code>{agent.runs}</code>
                <Command run={agent.command} />
              </>
            )}
          </li>
        ))}
      </ul>
      <p role="status">{done.value}</p>
    </section>
  );
}
