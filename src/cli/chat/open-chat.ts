import { visibleLine } from "../../base/text/visible.ts";
import type { AppContext } from "../../config/app-context.ts";
import {
  type AttachedSession,
  type AttachOptions,
  attachTo,
  TerminalClient,
  type TerminalListener,
  type SessionTarget,
} from "../../protocol/acp/attach.ts";
import type { Workplace, WorktreeRequest } from "../../session/workplace.ts";
import { offerAgent } from "../agent/offer-agents.ts";
import { requireModel } from "../../agent/open/offered-agents.ts";
import { findSession, openChannel } from "../session/attach.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { gatewayOf } from "../shell/gateway-url.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { Status } from "./status-line.ts";

export type ChatValues = OptionValues<
  "session" | "agent" | "branch" | "url",
  "worktree" | "yes" | "plain"
>;
export type ChatInvocation = Invocation<ChatValues>;

/** A session, and the name of its agent as far as it is known. */
export type NamedSession = SessionTarget & { readonly agent?: string | undefined };

/** The gateway that the command names, or where the session is that has moved away. */
async function whereIs(invocation: ChatInvocation, app: AppContext): Promise<string | undefined> {
  const { session } = invocation.values;
  const url = gatewayOf(invocation);
  if (url !== undefined || session === undefined) return url;
  return (await findSession(app, session, false, invocation.cwd)).movedTo;
}

/** The session with this id, or a new one. */
export async function wantedSession(
  { values, cwd }: ChatInvocation,
  app: AppContext,
  sessionId: string | undefined,
  agent = values.agent,
): Promise<NamedSession> {
  if (sessionId !== undefined) {
    return await findSession(app, sessionId, values.url !== undefined, cwd);
  }
  return { cwd, agent, worktree: worktreeOf(values) };
}

/**
 * Where a new session would have no model, offers the agents that are installed. Returns the one that was
 * added, and the program with it.
 */
export async function withOfferedAgent(
  invocation: ChatInvocation,
  app: AppContext,
  ask?: (question: string) => Promise<boolean>,
): Promise<{ readonly app: AppContext; readonly agent: string | undefined }> {
  const { agent, session, url } = invocation.values;
  if (session !== undefined || url !== undefined) return { app, agent };
  const added = await offerAgent(invocation, app, agent, ask);
  return added === undefined
    ? { app, agent }
    : { app: await openQuietApp(invocation), agent: added };
}

/** A client of the gateway that the command names, or of a door in this process. */
export async function openClient(
  invocation: ChatInvocation,
  app: AppContext,
  opened: AsyncDisposableStack,
  listener: TerminalListener,
): Promise<TerminalClient> {
  const channel = await openChannel(app, opened, await whereIs(invocation, app), invocation.env);
  const shows = { session: { notices: {}, compaction: {} } };
  return opened.use(await TerminalClient.open(channel, { ...listener, shows }));
}

/** The name of the agent for the status line. */
export function agentName(wanted: NamedSession, { config }: AppContext): string {
  return wanted.agent ?? ("sessionId" in wanted ? "session" : config.agent.name);
}

function worktreeOf({ worktree, branch }: ChatValues): WorktreeRequest | true | undefined {
  return branch === undefined ? worktree || undefined : { branch };
}

/** Where a session with a work tree works, and what is missing there. */
export function worktreeLines({ settings }: Pick<AttachedSession, "settings">): string[] {
  type Meta = { readonly trunkline?: { readonly worktree?: Workplace } };
  const { _meta } = (settings ?? {}) as { readonly _meta?: Meta };
  if (_meta?.trunkline?.worktree === undefined) return [];
  const { folder, branch, warnings } = _meta.trunkline.worktree;
  return [`Works on the branch ${branch} in ${folder}`, ...warnings].map((line) =>
    visibleLine(line),
  );
}

interface ChatListener extends Omit<AttachOptions, "queued" | "update"> {
  /** The task of a new session, which is not begun where nobody could do it. */
  readonly task?: string;
  readonly update: (update: Readonly<Record<string, unknown>>) => void;
}

/** Opens the session that the command names, or a new one. */
export async function openChat(
  invocation: ChatInvocation,
  opened: AsyncDisposableStack,
  { task = "/", update, ...person }: ChatListener,
): Promise<{ readonly session: AttachedSession; readonly status: Status }> {
  const { env, err, values } = invocation;
  const { app, agent } = await withOfferedAgent(invocation, await openQuietApp(invocation));
  const url = await whereIs(invocation, app);
  const isNew = values.session === undefined && url === undefined;
  if (isNew && !task.startsWith("/")) await requireModel(app, env, agent);
  const wanted = await wantedSession(invocation, app, values.session, agent);
  const channel = await openChannel(app, opened, url, env);
  const status = new Status(agentName(wanted, app));
  const session = await attachTo(channel, wanted, {
    ...person,
    queued: (message) => err(`${message}\n`),
    update: (each) => {
      status.update(each);
      update(each);
    },
  });
  opened.use(session);
  status.opened(session.settings);
  if (!("sessionId" in wanted)) for (const line of worktreeLines(session)) err(`${line}\n`);
  return { session, status };
}
