import { background } from "../../base/background.ts";
import { BEAT, eachInterval } from "../../base/limit/heartbeat.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { SessionReader } from "../../store/session/session-reader.ts";
import { openHolderSocket } from "./holder-socket.ts";
import type { SharedSessions, SharingOptions } from "./session-sharing.ts";

/** Opens the sessions of a data folder, which all processes of its user share. */
export async function openLocalSessions(
  data: string,
  { log, limits, lost }: SharingOptions,
): Promise<SharedSessions> {
  const store = await SessionLog.open(data, { lost });
  // Nobody takes a session from a process that answers. After it was stopped, it looks.
  const looks = eachInterval(BEAT, (isLate) => {
    if (isLate) background(store.confirm(), "Looking which sessions were taken over");
  });
  const { database, holder } = store;
  return {
    store,
    database,
    holder,
    holderOf: (id) => store.holderOf(id),
    openReader: () => SessionReader.open(data),
    letIn: (serve) => openHolderSocket({ data, holder, limits, log, serve }),
    [Symbol.asyncDispose]: async () => {
      clearInterval(looks);
      await store[Symbol.asyncDispose]();
    },
  };
}
