import { createInterface } from "node:readline";

import { background } from "../../base/background.ts";
import { type Attached, attachTo } from "../../protocol/acp/attach.ts";
import type { Invocation } from "../shell/command.ts";
import { readGatewayUrl } from "../shell/gateway-url.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { findSession, openChannel } from "./open-channel.ts";
import { askingWith } from "./permitting.ts";
import { Questions } from "./questions.ts";
import { SessionText } from "./session-text.ts";

interface AttachValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly url?: string;
  readonly observe?: boolean;
}

/** `trunkline session attach ID`: a line is a prompt, or the answer to a permission request. */
export async function attach(invocation: Invocation<AttachValues>): Promise<number> {
  const { values, positionals, env, cwd, out, err, color } = invocation;
  const { url, warning } = values.url === undefined ? {} : readGatewayUrl(values.url);
  if (warning !== undefined) err(`${warning}\n`);
  const app = await openQuietApp(invocation);
  const found = await findSession(app, positionals[0] ?? "", values.url !== undefined, cwd);
  const text = new SessionText(color);
  const input = createInterface({ input: process.stdin });
  const lines = input[Symbol.asyncIterator]();
  const questions = new Questions(out);
  await using opened = new AsyncDisposableStack();
  const channel = await openChannel(app, opened, url, env);
  await using session = await attachTo(
    channel,
    { ...found, observe: values.observe },
    {
      update: (update) => out(text.update(update)),
      permit: askingWith(questions),
    },
  );
  background(
    session.ended.then(() => input.close()),
    "Leaving a session that has ended",
  );
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

const OBSERVING = "You observe this session: you see all of it, and cannot prompt or answer.\n";
const CONTROLLING = "You control this session: a line that you type is a prompt or an answer.\n";

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
