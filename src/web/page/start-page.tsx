import type { JSX } from "preact";
import { signal } from "@preact/signals";

import type {
  AddedAgent,
  DeliveryRow,
  OfferedAgent,
  OfferedAgents,
  OverviewStep,
} from "../../server/dashboard/api.ts";
import { linkTo } from "../client/router.ts";
import { hasScope, overview, sessions } from "../client/state.ts";
import { plural } from "../text/format.ts";
import { NewSessionButton } from "../start/start-dialog.tsx";
import {
  act,
  Ago,
  Badge,
  Button,
  Command,
  PageHead,
  type Tone,
  useLoaded,
} from "../view/parts.tsx";
import { StateBadge } from "../view/session-facts.tsx";
import { pushBrowser, pushState, switchPushOff, switchPushOn } from "../client/push.ts";
import { get, post } from "../client/request.ts";
import { type Column, column, DataTable, lead, numbers } from "../view/data-table.tsx";

const STEPS: Readonly<
  Record<OverviewStep["id"], { readonly title: string; readonly why: string }>
> = {
  assistant: {
    title: "Connect an assistant",
    why: "It gets the tools of all your servers through one connection.",
  },
  editor: {
    title: "Connect an editor",
    why: "Its agent panel talks to any agent through Trunkline, and you can follow it here.",
  },
  agent: {
    title: "Talk with an agent",
    why: "The one that is built in, or Claude Code, Codex, Gemini and others that speak ACP.",
  },
  server: { title: "Add a server", why: "An MCP server whose tools every assistant may use." },
  identity: {
    title: "Add an identity",
    why: "The name, key and token that git uses, chosen by project.",
  },
};

/** The way in: what to connect, and whether it has worked. */
export function StartPage(): JSX.Element {
  const found = overview.value;
  if (found === undefined) return <p class="loading">Loading …</p>;
  const open = found.steps.filter(({ isDone }) => !isDone).length;
  return (
    <div class="page start">
      <PageHead
        title={open === found.steps.length ? "Welcome to Trunkline" : "Start"}
        note={
          open === 0 ? "Everything is connected" : `${open} of ${found.steps.length} steps left`
        }
      >
        <NewSessionButton />
      </PageHead>
      <Attention />
      <ol class="steps">
        {found.steps.map((step) => (
          <Step key={step.id} step={step} />
        ))}
      </ol>
      {hasScope("admin") ? <OfferedAgentList /> : null}
      <PushSwitch />
      <Deliveries />
      <section aria-label="Addresses">
        <h2>Addresses for other programs</h2>
        <dl class="addresses">
          <dt>MCP</dt>
          <dd>
            <Command run={found.urls.mcp} />
          </dd>
          <dt>ACP</dt>
          <dd>
            <Command run={found.urls.acp} />
          </dd>
        </dl>
      </section>
    </div>
  );
}

function Attention(): JSX.Element | null {
  const rows = sessions.rows.value.filter(({ state }) => state !== "idle").slice(0, 8);
  if (rows.length === 0) return null;
  const waiting = rows.filter(({ state }) => state === "waiting").length;
  return (
    <section aria-label="Now">
      <h2>{waiting > 0 ? `${plural(waiting, "session")} waiting for you` : "At work now"}</h2>
      <ul class="now">
        {rows.map((row) => (
          <li key={row.id}>
            <a href={linkTo("sessions", row.id)}>
              <StateBadge row={row} />
              <span class="main">{row.title ?? "Untitled"}</span>
              <span class="sub">{row.waiting?.says ?? row.repository ?? ""}</span>
              <Ago at={row.waiting?.since ?? row.updated} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Step({ step }: { readonly step: OverviewStep }): JSX.Element {
  const { title, why } = STEPS[step.id];
  return (
    <li class={`step ${step.isDone ? "done" : ""}`}>
      <div class="step-head">
        <h2>{title}</h2>
        {step.isDone ? (
          <Badge tone={step.isBroken === true ? "bad" : "good"}>
            {step.says ?? "done"}
            {step.at === undefined ? null : (
              <>
                {" · "}
                <Ago at={step.at} />
              </>
            )}
          </Badge>
        ) : (
          <Badge tone="wait">not seen yet</Badge>
        )}
      </div>
      <p>{why}</p>
      {step.isDone ? (
        <details>
          <summary>Commands</summary>
          <Commands step={step} />
        </details>
      ) : (
        <Commands step={step} />
      )}
    </li>
  );
}

function Commands({ step }: { readonly step: OverviewStep }): JSX.Element {
  return (
    <ul class="command-list">
      {step.commands.map(({ run, explains }) => (
        <li key={run}>
          <Command run={run} />
          <span class="note">{explains}</span>
        </li>
      ))}
    </ul>
  );
}

/** Switches push messages to this browser on and off. */
function PushSwitch(): JSX.Element {
  const browser = pushBrowser();
  const [state, , reload] = useLoaded(() => pushState(browser), []);
  const isOn = state === "on";
  return (
    <section aria-label="Notifications">
      <h2>Notifications in this browser {isOn ? <Badge tone="good">on</Badge> : null}</h2>
      {browser === undefined ? (
        <p>This browser has no push messages here. They need a page with https.</p>
      ) : (
        <>
          <p>When an agent needs you, this device shows it, with buttons that answer.</p>
          <Button
            onClick={() =>
              act(async () => {
                await (isOn ? switchPushOff(browser) : switchPushOn(browser));
                reload();
              })
            }
          >
            {isOn ? "Switch off" : "Switch on"}
          </Button>
        </>
      )}
    </section>
  );
}

/** What was done last, since the agent is not offered any more then. */
const done = signal("");

/** Agents that are installed, where new sessions would have no language model. */
function OfferedAgentList(): JSX.Element | null {
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

const TONES: Readonly<Record<DeliveryRow["state"], Tone>> = {
  pending: "wait",
  delivered: "good",
  failed: "bad",
  withdrawn: "plain",
};

const COLUMNS: readonly Column<DeliveryRow>[] = [
  lead("Reason", "minmax(7rem, 1fr)", ({ reason, session }) =>
    session === undefined ? reason : <a href={linkTo("sessions", session)}>{reason}</a>,
  ),
  column("Receiver", "minmax(8rem, 2fr)", ({ receiver }) => receiver),
  column("State", "minmax(8rem, 2fr)", ({ state, result }) => (
    <>
      <Badge tone={TONES[state]}>{state}</Badge>
      <span class="sub">{result ?? ""}</span>
    </>
  )),
  numbers("Attempts", "5rem", ({ attempts }) => attempts.length),
  column("Sent", "5rem", ({ time }) => <Ago at={Date.parse(time)} />),
];

/** The last notifications and what became of them; nothing before the first. */
function Deliveries(): JSX.Element | null {
  const [found] = useLoaded(
    () => get<{ deliveries: readonly DeliveryRow[] }>("/notifications"),
    [],
  );
  if (found === undefined || found.deliveries.length === 0) return null;
  return (
    <section aria-label="Last notifications">
      <h2>Last notifications</h2>
      <DataTable
        label="Last notifications"
        rows={found.deliveries}
        columns={COLUMNS}
        keyOf={({ id }) => id}
      />
    </section>
  );
}
