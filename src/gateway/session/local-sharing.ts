import { SessionLog } from "../../store/session/session-log.ts";
import { SessionReader } from "../../store/session/session-reader.ts";
import { HolderSocket } from "./holder-socket.ts";
import type { SharedSessions, SharingOptions } from "./session-sharing.ts";

/** Opens the sessions of a data folder, which all processes of its user share. */
export async function openLocalSessions(
  data: string,
  { log, limits }: SharingOptions,
): Promise<SharedSessions> {
  const store = await SessionLog.open(data);
  const { database, holder } = store;
  return {
    store,
    database,
    holder,
    holderOf: (id) => store.holderOf(id),
    openReader: () => SessionReader.open(data),
    letIn: (serve) => HolderSocket.open({ data, holder, limits, log, serve }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
