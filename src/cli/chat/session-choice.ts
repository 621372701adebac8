import { OWNER } from "../../base/principal.ts";
import { type SessionRows, sessionRowsOf } from "../../server/dashboard/session/session-rows.ts";
import type { SessionRow } from "../../server/dashboard/session-api.ts";
import { SessionReader } from "../../store/session/session-reader.ts";
import { firstLine } from "../shell/layout.ts";
import type { PickerItem } from "./picker.ts";

const MOST = 200;

/** The sessions of all processes of this data folder: those that wait for a person first, then by last use. */
export async function sessionRows(data: string): Promise<readonly SessionRow[]> {
  using reader = await SessionReader.open(data);
  return (await rowsOf(reader).page(OWNER, { limit: MOST })).rows;
}

/** Sessions as rows, for a program that holds none itself. */
export function rowsOf(reader: SessionReader): SessionRows {
  return sessionRowsOf({
    reader,
    holder: () => undefined,
    nameOf: (owner) => owner,
    identityOf: () => Promise.resolve(undefined),
  });
}

export function sessionItem(session: SessionRow): PickerItem {
  const { id, title, state, waiting, agent, cwd, updated } = session;
  const says = state === "waiting" ? `waits: ${waiting?.says ?? ""}` : state;
  const used = new Date(updated).toISOString().slice(5, 16).replace("T", " ");
  return {
    value: id,
    label: firstLine(title ?? "(no prompt yet)").slice(0, 60),
    hint: [firstLine(says), agent, used, cwd].join(" \u00b7 "),
    isUrgent: state === "waiting",
  };
}
