import { createInterface } from "node:readline";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { ownAcpChannel, remoteAcpChannel } from "../../app/door/acp-channel.ts";
import type { AppContext } from "../../config/app-context.ts";
import { ownerTokenFor } from "../../server/http/local-gateway.ts";
import { SessionCommands } from "../../session/open/session-commands.ts";
import { type AttachedSession, attachTo } from "../../protocol/acp/attach.ts";
import { readForeignId } from "../../session/foreign/foreign-sessions.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { gatewayOf } from "../shell/gateway-url.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { askingWith, Questions } from "./questions.ts";
import { conversationText, type ConversationText } from "../transcript/conversation-text.ts";

type AttachValues = OptionValues<"url", "observe">;

/** `trunkline session attach ID`: a line is a prompt, or the answer to a permission request. */
export async function attach(invocation: Invocation<AttachValues>): Promise<number> {
  const { values, positionals, env, cwd, out, err, color } = invocation;
  const url = gatewayOf(invocation);
  const app = await openQuietApp(invocation);
  const wanted = await findSession(app, positionals[0] ?? "", values.url !== undefined, cwd);
  const { movedTo, ...found } = wanted;
  // Without a width, so that text is printed at once: nothing says when another client's turn has ended.
  const text = conversationText({ color });
  const input = createInterface({ input: process.stdin });
  const lines = input[Symbol.asyncIterator]();
  const questions = new Questions(out);
  await using opened = new AsyncDisposableStack();
  const channel = await openChannel(app, opened, url ?? movedTo, env);
  await using session = await attachTo(
    channel,
    { ...found, observe: values.observe },
    {
      update: (update) => out(text.update(update)),
      ...askingWith(questions),
    },
  );
  const leaving = session.ended.then(() => input.close());
  background(leaving, "Leaving a session that has ended");
  err(session.role === "observer" ? OBSERVING : CONTROLLING);
  const turns = new Set<Promise<void>>();
  let isLeaving = false;
  const complain = (text: string): void => {
    // A turn that continues after we leave has not failed.
    if (!isLeaving) err(text);
  };
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
    const line = next.value;
    if (line === "/cancel") session.cancel();
    else if (questions.isOpen) questions.answer(line);
    else if (line.trim() !== "") turns.add(say(session, line, { text, out, err: complain }));
  }
  questions.endInput();
  const done = Promise.all(turns).then(() => 0);
  const left = questions.unanswerable.then(() => 1);
  const code = await Promise.race([done, left]);
  if (code !== 0) complain("trunkline: The input ended while the agent waits for an answer.\n");
  isLeaving = true;
  return code;
}

const OBSERVING = "You observe this session: you can read everything, but not prompt or answer.\n";
const CONTROLLING = "You control this session: a line that you type is a prompt or an answer.\n";

async function say(
  session: AttachedSession,
  line: string,
  { text, out, err }: Pick<Invocation, "out" | "err"> & { readonly text: ConversationText },
): Promise<void> {
  try {
    const { stopReason } = await session.prompt(line);
    out(text.end());
    if (stopReason !== "end_turn") out(`(${stopReason})\n`);
  } catch (error) {
    out(text.end());
    err(`trunkline: ${(error as Error).message}\n`);
  }
}

/**
 * A channel to the gateway at a URL, or to a door in this process, which reaches sessions that
 * another process holds. A gateway with the same data folder gets the owner's token.
 */
export async function openChannel(
  app: AppContext,
  opened: AsyncDisposableStack,
  url: string | undefined,
  { TRUNKLINE_TOKEN: token }: NodeJS.ProcessEnv,
): Promise<ReturnType<typeof ownAcpChannel>> {
  if (url === undefined) return ownAcpChannel(app, opened);
  if (token !== undefined) return remoteAcpChannel(url, token);
  const own = await ownerTokenFor(app.config.data, url);
  return remoteAcpChannel(own?.url ?? url, own?.token);
}

/**
 * The session with this id. An id that is unknown here is passed on if a gateway at a URL or an agent may
 * know it. One that has moved away is where it was moved to.
 */
export async function findSession(
  app: AppContext,
  id: string,
  isElsewhere: boolean,
  cwd: string,
): Promise<{ sessionId: string; cwd: string; agent?: string; movedTo?: string }> {
  await using commands = await SessionCommands.open(app.config.data);
  try {
    const { id: sessionId, cwd: folder, agent } = await commands.find(id);
    const movedTo = (await commands.moves.away()).get(sessionId);
    const isReached = movedTo !== undefined && /^wss?:/.test(movedTo);
    return { sessionId, cwd: folder, agent, ...(isReached ? { movedTo } : {}) };
  } catch (error) {
    const isKnown = isElsewhere || readForeignId(id) !== undefined;
    if (isKnown && error instanceof TrunklineError) return { sessionId: id, cwd };
    throw error;
  }
}
