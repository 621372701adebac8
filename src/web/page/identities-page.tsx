import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { Identities, IdentityRow, ProjectIdentity } from "../../server/dashboard/api.ts";
import { get } from "../client/request.ts";
import { mayDo } from "../client/state.ts";
import { lazily } from "../form/dialog.tsx";
import type { IdentityTask } from "../form/identity-dialog.tsx";
import { plural, shortPath } from "../text/format.ts";
import { code, type Column, column, DataTable, lead, numbers } from "../view/data-table.tsx";
import {
  Badge,
  Button,
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
  lead("Identity", "minmax(8rem, 1.5fr)", ({ name, provider, host }) => (
    <TwoLines main={name} sub={`${provider} · ${host}`} />
  )),
  column("Person", "minmax(10rem, 2fr)", ({ user, email }) => <TwoLines main={user} sub={email} />),
  code("SSH key", "minmax(8rem, 2fr)", ({ sshKey }) =>
    sshKey === undefined ? "default" : shortPath(sshKey),
  ),
  column("Signing", "minmax(6rem, 1fr)", ({ signing }) => signing),
  column("Token", "6rem", ({ hasToken, tokenExpires: until }) => {
    if (until === undefined)
      return hasToken ? <Badge tone="good">kept</Badge> : <Badge>none</Badge>;
    const isOver = Date.parse(until) < Date.now();
    const badge = <Badge tone={isOver ? "bad" : "wait"}>{isOver ? "expired" : "expires"}</Badge>;
    return <TwoLines main={badge} sub={until.slice(0, 10)} />;
  }),
];

const GUARD: Readonly<Record<ProjectIdentity["guard"], Tone>> = {
  on: "good",
  off: "plain",
  broken: "bad",
  unknown: "plain",
};

const PROJECTS: readonly Column<ProjectIdentity>[] = [
  { ...lead("Folder", "minmax(12rem, 3fr)", ({ folder }) => shortPath(folder)), isCode: true },
  column("Identity", "minmax(8rem, 2fr)", ({ identity, email }) => (
    <TwoLines main={identity ?? "none of yours"} sub={email} />
  )),
  column("Guard", "minmax(6rem, 1.5fr)", ({ guard, says }) => (
    <TwoLines main={<Badge tone={GUARD[guard]}>{guard}</Badge>} sub={says} />
  )),
  numbers("Sessions", "5rem", ({ sessions }) => sessions),
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
          <Empty
            title="No identities"
            run="trunkline identity add NAME --provider github --user USER --email EMAIL"
          />
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
