import { signal } from "@preact/signals";
import type { JSX } from "preact";

import type { PluginRow, ServerRow } from "../../server/dashboard/api.ts";
import { post } from "../client/request.ts";
import { mayDo, plugins, servers } from "../client/state.ts";
import { lazily } from "../form/dialog.tsx";
import type { ServerTask } from "../form/server-dialog.tsx";
import { milliseconds } from "../text/format.ts";
import { code, type Column, column, DataTable, lead, numbers } from "../view/data-table.tsx";
import {
  act,
  Badge,
  Button,
  Empty,
  PageHead,
  setterOf,
  type Tone,
  TwoLines,
} from "../view/parts.tsx";

const TONES: Readonly<Record<ServerRow["state"] | PluginRow["state"], Tone>> = {
  up: "good",
  starting: "busy",
  // It has failed, and is started again soon, or after a longer time.
  held: "wait",
  waiting: "bad",
  resting: "bad",
  down: "bad",
  stopped: "plain",
  idle: "plain",
};

function Restart({ path, name }: { path: string; name: string }): JSX.Element | null {
  if (!mayDo("admin")) return null;
  return (
    <Button
      class="quiet small"
      aria-label={`Restart ${name}`}
      onClick={() => act(() => post(path))}
    >
      Restart
    </Button>
  );
}

const ServerDialog = lazily(async () => (await import("../form/server-dialog.tsx")).ServerDialog);
const task = signal<ServerTask | undefined>(undefined);
const setTask = setterOf(task);

/** What can be done with a server. */
function ServerActions({ server }: { readonly server: ServerRow }): JSX.Element | null {
  if (!mayDo("admin")) return null;
  const { name, canLogIn } = server;
  const actions = [
    ["test", "Test", `Test ${name}`],
    ["remove", "Remove", `Remove ${name}`],
  ] as const;
  return (
    <div class="buttons">
      {actions.map(([kind, says, label]) => (
        <Button
          key={kind}
          class="small"
          aria-label={label}
          onClick={() => setTask({ kind, server })}
        >
          {says}
        </Button>
      ))}
      {canLogIn === true ? (
        <a
          href={`logins#${encodeURIComponent(name)}`}
          target="_blank"
          rel="noopener"
          aria-label={`Log in to ${name}`}
        >
          Log in
        </a>
      ) : null}
    </div>
  );
}

const SERVERS: readonly Column<ServerRow>[] = [
  column("State", "6rem", ({ state }) => (
    <Badge
      tone={TONES[state]}
      title={state === "idle" ? "It is started when it is first needed." : ""}
    >
      {state}
    </Badge>
  )),
  lead("Server", "minmax(8rem, 2fr)", ({ name, says }) => <TwoLines main={name} sub={says} />),
  code("Where", "minmax(10rem, 3fr)", ({ where }) => where),
  numbers("Tools", "4rem", ({ tools }) => tools),
  column("Action", "6rem", ({ name }) => (
    <Restart name={name} path={`/servers/${encodeURIComponent(name)}/restart`} />
  )),
];

const PLUGINS: readonly Column<PluginRow>[] = [
  column("State", "6rem", ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>),
  lead("Plugin", "minmax(8rem, 2fr)", ({ id, health }) => <TwoLines main={id} sub={health} />),
  column("Last error", "minmax(8rem, 3fr)", ({ lastError }) => lastError ?? ""),
  column("Calls", "8rem", ({ calls, waiting, limits }) => (
    <TwoLines
      main={`${calls} of ${limits.calls}`}
      sub={`${waiting} of ${limits.queue} wait, ${milliseconds(limits.call)} each`}
    />
  )),
  numbers("Restarts", "5rem", ({ restarts }) => restarts),
  numbers("Tools", "4rem", ({ tools }) => tools),
  column("Action", "6rem", ({ id }) => (
    <Restart name={id} path={`/plugins/${encodeURIComponent(id)}/restart`} />
  )),
];

function Log({ lines }: { readonly lines: readonly string[] }): JSX.Element {
  return (
    <pre class="server-log" tabIndex={0} aria-label="Log">
      {lines.length === 0 ? "The log is empty." : lines.join("\n")}
    </pre>
  );
}

export function ServersPage(): JSX.Element {
  return (
    <div class="two-tables">
      <PageHead title="Servers and plugins">
        {mayDo("admin") ? (
          <Button class="primary" onClick={() => setTask({ kind: "add" })}>
            Add a server
          </Button>
        ) : null}
      </PageHead>
      <DataTable
        label="Servers"
        of={servers}
        isCompact
        columns={SERVERS}
        detail={(server) => (
          <>
            <ServerActions server={server} />
            {server.says === undefined ? null : <p class="bad">{server.says}</p>}
            <Log lines={server.log} />
          </>
        )}
        empty={<Empty title="No servers" run="trunkline server add NAME -- COMMAND" />}
      />
      <h2 class="between">Plugins</h2>
      <DataTable
        label="Plugins"
        of={plugins}
        columns={PLUGINS}
        detail={({ log }) => <Log lines={log} />}
        empty={<Empty title="No plugins" run="trunkline plugin add PATH" />}
      />
      {task.value === undefined ? null : (
        <ServerDialog task={task.value} onClose={() => setTask(undefined)} />
      )}
    </div>
  );
}
