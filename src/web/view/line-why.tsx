import type { JSX } from "preact";

import type { LineWhy } from "../../server/dashboard/session-api.ts";
import { get } from "../client/request.ts";
import { linkTo } from "../client/router.ts";
import { Facts, Unloaded, useLoaded } from "./parts.tsx";

/** Who wrote a line, and why. */
export function LineWhyView({ path }: { readonly path: string }): JSX.Element {
  const [why, failed] = useLoaded(() => get<LineWhy>(path), [path]);
  if (why === undefined) return <Unloaded what="Who wrote it" failed={failed} />;
  const { rows, session } = why;
  const facts = rows.map(([name, value]): [string, JSX.Element | string] => {
    const isLink = name === "session" && session !== undefined;
    return [name, isLink ? <a href={linkTo("sessions", session)}>{value}</a> : value];
  });
  return (
    <div class="line-why" role="note" aria-label="Who wrote it">
      <Facts facts={facts} />
    </div>
  );
}
