import { serveStdio } from "./serve-stdio.ts";
import { untilOver } from "./until-over.ts";
import type { AppContext } from "../../config/app-context.ts";
import { homeOf, LazySessions } from "../session/lazy-sessions.ts";
import { LazyTools } from "../tool/lazy-tools.ts";
import { AcpDoor } from "../../protocol/acp/door.ts";
import { agentLogin } from "./agent-login.ts";
import { AcpConversation } from "../../protocol/acp/serve.ts";
import { jugglerRoutes, jugglerServer } from "../../protocol/juggler/serve.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { announcedStdio } from "./announced-stdio.ts";

export interface AcpOnStdioOptions {
  /** Who works in new sessions. */
  readonly agent?: string | undefined;
  /** New sessions get a work tree of their own. */
  readonly worktree?: boolean | undefined;
  /** Understands RemoteJuggler's actions too. */
  readonly hasActions?: boolean;
}

/** `trunkline acp`, which editors start. */
export async function serveAcpOnStdio(
  app: AppContext,
  { agent, worktree, hasActions = true }: AcpOnStdioOptions = {},
): Promise<void> {
  await using tools = new LazyTools(app);
  await using sessions = new LazySessions(app, tools);
  const door = new AcpDoor({
    agent,
    worktree,
    limits: app.config.limits.messages,
    sessions: sessions.open,
    ...sessions.sharing.holders,
    home: homeOf(app),
    ...agentLogin(app),
  });
  const options = hasActions ? withActions(door.peerOptions, tools) : door.peerOptions;
  const channel = announcedStdio(app, "editor");
  await untilOver(new AcpConversation(door, channel, { peer: app.withLimits(options) }));
}

/**
 * Adds RemoteJuggler's actions to the routes of another dialect: which of the two a client speaks is
 * known only with its first message.
 */
export function withActions<S>(door: PeerOptions<S>, { offer }: LazyTools): PeerOptions<S> {
  const own = jugglerRoutes<S>({ offer, folder: process.cwd() });
  return {
    ...door,
    routes: new Map([...door.routes, ...own.map((each) => [each.name, each] as const)]),
  };
}

/** `trunkline acp --dialect juggler`, which JetBrains IDEs start for RemoteJuggler's actions. */
export async function serveJugglerOnStdio(app: AppContext): Promise<void> {
  await using tools = new LazyTools(app);
  await serveStdio(app, undefined, jugglerServer({ offer: tools.offer, folder: process.cwd() }));
}
