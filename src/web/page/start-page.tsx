import type { JSX } from "preact";

import type { OverviewStep } from "../../server/dashboard/api.ts";
import { linkTo } from "../client/router.ts";
import { hasScope, overview, sessions } from "../client/state.ts";
import { plural } from "../text/format.ts";
import { Deliveries } from "../view/deliveries.tsx";
import { OfferedAgentList } from "../view/offered-agents.tsx";
import { Ago, Badge, Command, PageHead } from "../view/parts.tsx";
import { PushSwitch } from "../view/push-switch.tsx";
import { StateBadge } from "../view/session-facts.tsx";

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
      />
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
          <Badge tone="good">
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
