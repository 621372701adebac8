import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { Identities, IdentityRow, ProjectIdentity } from "../../server/dashboard/api.ts";
import { get } from "../client/request.ts";
import { mayDo } from "../client/state.ts";
import { lazily } from "../form/dialog.tsx";
import type { IdentityTask } from "../form/identity-dialog.tsx";
import { plural, shortPath } from "../text/format.ts";
import { type Column, DataTable } from "../view/data-table.tsx";
import {
  Badge,
  Button,
  Command,
  Empty,
  PageHead,
  type Tone,
  TwoLines,
  Unloaded,
  useLoaded,
} from "../view/parts.tsx";

const IdentityDialog = lazily(
  async () => (await import("../form/identity-dialog.tsx")).IdentityDialog,
);

const IDENTITIES: readonly Column<IdentityRow>[] = [
  {
    name: "Identity",
    isLead: true,
    width: "minmax(8rem, 1.5fr)",
    cell: ({ name, provider, host }) => <TwoLines main={name} sub={`${provider} · ${host}`} />,
  },
  {
    name: "Person",
    width: "minmax(10rem, 2fr)",
    cell: ({ user, email }) => <TwoLines main={user} sub={email} />,
  },
  {
    name: "SSH key",
    width: "minmax(8rem, 2fr)",
    isCode: true,
    cell: ({ sshKey }) => (sshKey === undefined ? "default" : shortPath(sshKey)),
  },
  { name: "Signing", width: "minmax(6rem, 1fr)", cell: ({ signing }) => signing },
  {
    name: "Token",
    width: "6rem",
    cell: ({ hasToken, tokenExpires: until }) =>
      until !== undefined ? (
        <TwoLines
          main={<Badge tone="wait">{Date.parse(until) > Date.now() ? "expires" : "expired"}</Badge>}
          sub={until.slice(0, 10)}
        />
      ) : hasToken ? (
        <Badge tone="good">kept</Badge>
      ) : (
        <Badge>none</Badge>
      ),
  },
];

const GUARD: Readonly<Record<ProjectIdentity["guard"], Tone>> = {
  on: "good",
  off: "plain",
  broken: "bad",
  unknown: "plain",
};

const PROJECTS: readonly Column<ProjectIdentity>[] = [
  {
    name: "Folder",
    isLead: true,
    width: "minmax(12rem, 3fr)",
    isCode: true,
    cell: ({ folder }) => shortPath(folder),
  },
  {
    name: "Identity",
    width: "minmax(8rem, 2fr)",
    cell: ({ identity, email }) => <TwoLines main={identity ?? "none of yours"} sub={email} />,
  },
  {
    name: "Guard",
    width: "minmax(6rem, 1.5fr)",
    cell: ({ guard, says }) => (
      <TwoLines main={<Badge tone={GUARD[guard]}>{guard}</Badge>} sub={says} />
    ),
  },
  { name: "Sessions", width: "5rem", isNumber: true, cell: ({ sessions }) => sessions },
];

export function IdentitiesPage(): JSX.Element {
  const [found, failed, reload] = useLoaded(() => get<Identities>("/identities"), []);
  const [task, setTask] = useState<IdentityTask | undefined>(undefined);
  if (found === undefined) return <Unloaded what="The identities" failed={failed} />;
  return (
    <div class="two-tables">
      <PageHead
        title="Identities"
        note={plural(found.identities.length, "identity").replace("ys", "ies")}
      >
        <Button class="quiet" onClick={reload}>
          Reload
        </Button>
        {mayDo("admin") ? (
          <>
            <Button onClick={() => setTask({ kind: "switch", ...found })}>
              Switch a repository
            </Button>
            <Button class="primary" onClick={() => setTask({ kind: "add" })}>
              New identity
            </Button>
          </>
        ) : null}
      </PageHead>
      <DataTable
        label="Identities"
        isCompact
        rows={found.identities}
        columns={IDENTITIES}
        keyOf={({ name }) => name}
        empty={
          <Empty title="No identities">
            <Command run="trunkline identity add NAME --provider github --user USER --email EMAIL" />
          </Empty>
        }
      />
      <h2 class="between">Which identity each project uses</h2>
      <DataTable
        label="Projects"
        rows={found.projects}
        columns={PROJECTS}
        keyOf={({ folder }) => folder}
        empty={<Empty title="No projects yet">Folders of sessions appear here.</Empty>}
      />
      {task === undefined ? null : (
        <IdentityDialog task={task} onDone={reload} onClose={() => setTask(undefined)} />
      )}
    </div>
  );
}
