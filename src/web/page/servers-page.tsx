import { signal } from "@preact/signals";
import type { JSX } from "preact";

import type { PluginRow, ServerRow } from "../../server/dashboard/api.ts";
import { post } from "../client/request.ts";
import { mayDo, plugins, servers } from "../client/state.ts";
import { lazily } from "../form/dialog.tsx";
import type { ServerTask } from "../form/server-dialog.tsx";
import { milliseconds } from "../text/format.ts";
import { type Column, DataTable } from "../view/data-table.tsx";
import {
  act,
  Badge,
  Button,
  Command,
  Empty,
  PageHead,
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

/** What can be done with a server. */
function ServerActions({ server }: { readonly server: ServerRow }): JSX.Element | null {
  if (!mayDo("admin")) return null;
  const { name, canLogIn } = server;
  const actions = [
    ["test", "Test", `Test ${name}`],
    ...(canLogIn === true ? [["login", "Log in", `Log in to ${name}`] as const] : []),
    ["remove", "Remove", `Remove ${name}`],
  ] as const;
  return (
    <div class="buttons">
      {actions.map(([kind, says, label]) => (
        <Button
          key={kind}
          class="small"
          aria-label={label}
          onClick={() => {
            task.value = { kind, server };
          }}
        >
          {says}
        </Button>
      ))}
    </div>
  );
}

const SERVERS: readonly Column<ServerRow>[] = [
  {
    name: "State",
    width: "6rem",
    cell: ({ state }) => (
      <Badge
        tone={TONES[state]}
        title={state === "idle" ? "It is started when it is first needed." : ""}
      >
        {state}
      </Badge>
    ),
  },
  {
    name: "Server",
    isLead: true,
    width: "minmax(8rem, 2fr)",
    cell: ({ name, says }) => <TwoLines main={name} sub={says} />,
  },
  { name: "Where", width: "minmax(10rem, 3fr)", isCode: true, cell: ({ where }) => where },
  { name: "Tools", width: "4rem", isNumber: true, cell: ({ tools }) => tools },
  {
    name: "Action",
    width: "6rem",
    cell: ({ name }) => (
      <Restart name={name} path={`/servers/${encodeURIComponent(name)}/restart`} />
    ),
  },
];

const PLUGINS: readonly Column<PluginRow>[] = [
  {
    name: "State",
    width: "6rem",
    cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>,
  },
  {
    name: "Plugin",
    isLead: true,
    width: "minmax(8rem, 2fr)",
    cell: ({ id, health }) => <TwoLines main={id} sub={health} />,
  },
  { name: "Last error", width: "minmax(8rem, 3fr)", cell: ({ lastError }) => lastError ?? "" },
  {
    name: "Calls",
    width: "8rem",
    cell: ({ calls, waiting, limits }) => (
      <TwoLines
        main={`${calls} of ${limits.calls}`}
        sub={`${waiting} of ${limits.queue} wait, ${milliseconds(limits.call)} each`}
      />
    ),
  },
  { name: "Restarts", width: "5rem", isNumber: true, cell: ({ restarts }) => restarts },
  { name: "Tools", width: "4rem", isNumber: true, cell: ({ tools }) => tools },
  {
    name: "Action",
    width: "6rem",
    cell: ({ id }) => <Restart name={id} path={`/plugins/${encodeURIComponent(id)}/restart`} />,
  },
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
          <Button
            class="primary"
            onClick={() => {
              task.value = { kind: "add" };
            }}
          >
            Add a server
          </Button>
        ) : null}
      </PageHead>
      <DataTable
        label="Servers"
        of={servers}
        isCompact
        rows={servers.rows.value}
        columns={SERVERS}
        keyOf={({ name }) => name}
        detail={(server) => (
          <>
            <ServerActions server={server} />
            <Log lines={server.log} />
          </>
        )}
        empty={
          <Empty title="No servers">
            <Command run="trunkline server add NAME -- COMMAND" />
          </Empty>
        }
      />
      <h2 class="between">Plugins</h2>
      <DataTable
        label="Plugins"
        of={plugins}
        rows={plugins.rows.value}
        columns={PLUGINS}
        keyOf={({ id }) => id}
        detail={({ log }) => <Log lines={log} />}
        empty={
          <Empty title="No plugins">
            <Command run="trunkline plugin add PATH" />
          </Empty>
        }
      />
      {task.value === undefined ? null : (
        <ServerDialog
          task={task.value}
          onClose={() => {
            task.value = undefined;
          }}
        />
      )}
    </div>
  );
}
