import { join } from "node:path";

import { Lazy } from "../../base/lazy.ts";
import { readGatewayHolder } from "../../session/session-error.ts";
import type { HolderDialer } from "../../protocol/acp/relay/session-links.ts";
import type { Sessions } from "../../session/sessions.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { SessionSharing } from "../../session/open/session-sharing.ts";
import type { OpenedSessions, OpenSessionsOptions } from "./sessions.ts";

export type LazySessionsOptions = Omit<OpenSessionsOptions, "sharing"> &
  Partial<Pick<OpenSessionsOptions, "sharing">>;

/** The sessions of a program, loaded and opened for the first request. */
export class LazySessions extends Lazy<OpenedSessions> {
  /** How they are shared with other processes. */
  readonly sharing: SessionSharing;

  constructor(app: AppContext, options: LazySessionsOptions = {}) {
    const { sharing = localSharing(app.config.data) } = options;
    super(async () => {
      const { openSessions } = await import("./sessions.ts");
      return openSessions(app, { ...options, sharing });
    });
    this.sharing = sharing;
  }

  readonly open = async (): Promise<Sessions> => (await this.get()).sessions;
}

/** The processes of this machine share the sessions of a data folder. */
export function localSharing(data: string): SessionSharing {
  const reach: HolderDialer = async (holder, principal) => {
    const gateway = readGatewayHolder(holder);
    if (gateway !== undefined) {
      const { reachGateway } = await import("../door/acp-channel.ts");
      return await reachGateway(data, gateway, principal);
    }
    const { reachHolder } = await import("../../session/open/holder-socket.ts");
    return await reachHolder(data, holder, principal);
  };
  const isStopped = async (holder: string): Promise<boolean> => {
    const { Holder, HOLDERS } = await import("../../store/holder.ts");
    using holders = Holder.at(join(data, HOLDERS));
    return holders.isStopped(holder);
  };
  return {
    holders: { reach, isStopped },
    open: async (options) => {
      const { openLocalSessions } = await import("../../session/open/local-sharing.ts");
      return await openLocalSessions(data, options);
    },
  };
}

/** Finds the running gateway in which sessions are opened, if there is one. */
export function homeOf(
  { config }: AppContext,
  env = process.env,
): () => Promise<string | undefined> {
  return async () => {
    const { sessionHome } = await import("../../agent/open/session-home.ts");
    return await sessionHome(config, env);
  };
}
