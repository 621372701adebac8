import type { JSX } from "preact";

import type { EndedLogin, LoginRow } from "../../server/dashboard/api.ts";
import { get, post } from "../client/request.ts";
import { type Column, column, DataTable, lead } from "../view/data-table.tsx";
import { Empty, PageHead, problem, SureButton, Unloaded, useLoaded } from "../view/parts.tsx";

/** The logins at MCP servers, of the person who looks; the owner sees those of all. */
export function LoginsPage(): JSX.Element {
  const [found, failed, reload] = useLoaded(
    () => get<{ logins: readonly LoginRow[] }>("/logins"),
    [],
  );
  if (found === undefined) return <Unloaded what="The logins" failed={failed} />;
  const end = async ({ id }: LoginRow): Promise<void> => {
    const { problems } = await post<EndedLogin>(`/logins/${encodeURIComponent(id)}/end`);
    reload();
    const [why] = problems;
    if (why !== undefined) problem.value = `It is over here. Its tokens may be good at ${why}.`;
  };
  const columns: readonly Column<LoginRow>[] = [
    lead("Server", "minmax(8rem, 2fr)", ({ server }) => server),
    column("Person", "minmax(6rem, 1fr)", ({ person }) => person),
    column("Login", "8rem", ({ state }) => state),
    column("Issuer", "minmax(8rem, 2fr)", ({ issuer }) => issuer),
    column("Action", "6rem", (row) => (
      <SureButton
        says="End"
        what={`the login of ${row.person} at ${row.server}`}
        act={() => end(row)}
      />
    )),
  ];
  return (
    <>
      <PageHead title="Logins at servers">
        <a href="logins" target="_blank" rel="noopener">
          Log in
        </a>
      </PageHead>
      <DataTable
        label="Logins"
        rows={found.logins}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title="No logins">Servers that know each person ask for one.</Empty>}
      />
    </>
  );
}
