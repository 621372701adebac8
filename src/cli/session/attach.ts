import { createInterface } from "node:readline";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { ownerTokenFor } from "../../gateway/http/local-gateway.ts";
import { ownAcpChannel, remoteAcpChannel } from "../../gateway/door/acp-channel.ts";
import type { House } from "../../gateway/house.ts";
import { type Attached, attachTo } from "../../protocol/acp/attach.ts";
import { SessionCommands } from "../../gateway/session/session-commands.ts";
import type { Invocation } from "../shell/command.ts";
import { quietHouse } from "../shell/open-house.ts";
import { Questions, questionText } from "./questions.ts";
import { SessionText } from "./session-text.ts";

interface AttachValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly url?: string;
}

/** `trunkline session attach ID`: a line is a prompt, or the answer to a permission request. */
export async function attach(invocation: Invocation<AttachValues>): Promise<number> {
  const { values, positionals, env, cwd, out, err, color } = invocation;
  const house = await quietHouse(invocation);
  const found = await findSession(house, positionals[0] ?? "", values.url !== undefined, cwd);
  const gateway = await gatewayOf(house.config.data, values.url, env.TRUNKLINE_TOKEN);
  const text = new SessionText(color);
  const input = createInterface({ input: process.stdin });
  const lines = input[Symbol.asyncIterator]();
  const questions = new Questions(out);
  await using opened = new AsyncDisposableStack();
  const channel =
    gateway.url === undefined
      ? ownAcpChannel(house, opened)
      : await remoteAcpChannel(gateway.url, gateway.token);
  await using session = await attachTo(channel, found, {
    update: (update) => out(text.update(update)),
    permit: async ({ toolCall, options }, signal) => {
      const names = options.map(({ name }) => name);
      const chosen = await questions.ask(questionText(toolCall), names, signal);
      return chosen === undefined ? undefined : options[chosen]?.optionId;
    },
  });
  background(
    session.ended.then(() => input.close()),
    "Leaving a session that has ended",
  );
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
    else if (line.trim() !== "") turns.add(say(session, line, { out, err: complain }));
  }
  questions.endInput();
  const done = Promise.all(turns).then(() => 0);
  const left = questions.unanswerable.then(() => 1);
  const code = await Promise.race([done, left]);
  if (code !== 0) complain("trunkline: The input ended while the agent waits for an answer.\n");
  isLeaving = true;
  return code;
}

/** The gateway to connect to. One with the same data folder gets the owner's token. */
async function gatewayOf(
  data: string,
  url: string | undefined,
  token: string | undefined,
): Promise<{ url?: string; token?: string }> {
  if (url === undefined) return {};
  if (token !== undefined) return { url, token };
  return (await ownerTokenFor(data, url)) ?? { url };
}

async function say(
  session: Attached,
  line: string,
  { out, err }: Pick<Invocation, "out" | "err">,
): Promise<void> {
  try {
    const { stopReason } = await session.prompt(line);
    out(stopReason === "end_turn" ? "\n" : `\n(${stopReason})\n`);
  } catch (error) {
    err(`\ntrunkline: ${(error as Error).message}\n`);
  }
}

/** The session with this id. One that only a gateway elsewhere knows is passed on as it is. */
async function findSession(
  house: House,
  id: string,
  isElsewhere: boolean,
  cwd: string,
): Promise<{ sessionId: string; cwd: string }> {
  await using commands = await SessionCommands.open(house.config.data);
  try {
    const { id: sessionId, cwd: folder } = await commands.find(id);
    return { sessionId, cwd: folder };
  } catch (error) {
    if (isElsewhere && error instanceof TrunklineError) return { sessionId: id, cwd };
    throw error;
  }
}
