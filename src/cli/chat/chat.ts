import { text as readAll } from "node:stream/consumers";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { type Attached, attachTo, type Ended, type Wanted } from "../../protocol/acp/attach.ts";
import type { Workplace, WorktreeRequest } from "../../session/workplace.ts";
import { findSession, openChannel } from "../session/open-channel.ts";
import { permitting } from "../session/permitting.ts";
import type { Invocation } from "../shell/command.ts";
import { readGatewayUrl } from "../shell/gateway-url.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { ChatText } from "./chat-text.ts";
import { Screen } from "./screen.ts";
import { Status } from "./status.ts";

export interface ChatValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly session?: string;
  readonly agent?: string;
  readonly worktree?: boolean;
  readonly branch?: string;
  readonly url?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `trunkline chat [PROMPT]` */
export async function chat(invocation: Invocation<ChatValues>): Promise<number> {
  const { values, positionals, isTerminal } = invocation;
  const given = positionals.join(" ");
  if (values.session !== undefined && values.agent !== undefined) {
    const says = "a session keeps the agent that it began with";
    throw new TrunklineError("usage", `Cannot use --agent with --session: ${says}.`);
  }
  const isOwn = values.worktree === true || values.branch !== undefined;
  if (values.session !== undefined && isOwn) {
    const says = "a session keeps the folder that it began with";
    throw new TrunklineError("usage", `Cannot use --worktree with --session: ${says}.`);
  }
  const isPerson = process.stdin.isTTY && isTerminal && values.json !== true;
  if (given === "" && isPerson) return (await import("./converse.ts")).converse(invocation);
  if (given === "" && process.stdin.isTTY) {
    const why = "there is no terminal to talk at";
    throw new TrunklineError("usage", `Cannot start a conversation: ${why}. Give a PROMPT.`);
  }
  const prompt = given === "" ? (await readAll(process.stdin)).trim() : given;
  if (prompt === "") throw new TrunklineError("usage", "Cannot ask: the prompt is empty.");
  await using opened = new AsyncDisposableStack();
  return await once(invocation, prompt, opened);
}

/** One turn: the answer goes to standard output, and the rest too where a person reads it. */
async function once(
  invocation: Invocation<ChatValues>,
  prompt: string,
  opened: AsyncDisposableStack,
): Promise<number> {
  const { values, out, err, data, color, isTerminal } = invocation;
  const isJson = values.json === true;
  const text = new ChatText(color && isTerminal);
  const answer: string[] = [];
  const screen = new Screen({ ...screenOf(invocation), isTerminal: isTerminal && !isJson });
  let isReplay = true;
  const { session, status } = await openChat(invocation, opened, {
    update: (update) => {
      if (isReplay) return;
      const isAnswer = update.sessionUpdate === "agent_message_chunk";
      if (isTerminal && !isJson) screen.print(text.update(update));
      else if (!isAnswer) err(text.update(update));
      else {
        const { text: said = "" } = (update.content ?? {}) as { text?: string };
        answer.push(said);
        if (!isJson) out(said);
      }
    },
    permit: permitting(
      {
        isYes: values.yes === true,
        isSilent: isJson,
        out: (question) => screen.print(question),
        err: (words) => (isTerminal ? screen.print(words) : err(words)),
      },
      opened,
    ),
  });
  isReplay = false;
  background(
    untilSignal().then(() => session.cancel()),
    "Cancelling a turn",
  );
  const started = performance.now();
  const shows = setInterval(() => {
    screen.status(status.text(performance.now() - started, text.running));
  }, 500);
  opened.defer(() => clearInterval(shows));
  const ended = await withLoss(session, session.prompt(prompt));
  clearInterval(shows);
  screen.print(text.end());
  if (isJson) data(`${JSON.stringify(resultOf(session, ended, answer.join("")), null, 2)}\n`);
  else if (!isTerminal && answer.at(-1)?.endsWith("\n") === false) out("\n");
  if (ended.stopReason === "end_turn") return 0;
  err(`The turn ended before its time (${ended.stopReason}).\n`);
  return 1;
}

interface ChatListener {
  readonly update: (update: Readonly<Record<string, unknown>>) => void;
  readonly permit: Parameters<typeof attachTo>[2]["permit"];
}

/** Opens the session that the command names, or a new one. */
export async function openChat(
  invocation: Invocation<ChatValues>,
  opened: AsyncDisposableStack,
  { update, permit }: ChatListener,
): Promise<{ readonly session: Attached; readonly status: Status }> {
  const { values, cwd, env, err } = invocation;
  const { url, warning } = values.url === undefined ? {} : readGatewayUrl(values.url);
  if (warning !== undefined) err(`${warning}\n`);
  const app = await openQuietApp(invocation);
  const wanted: Wanted & { readonly agent?: string | undefined } =
    values.session === undefined
      ? { cwd, agent: values.agent, worktree: worktreeOf(values) }
      : await findSession(app, values.session, url !== undefined, cwd);
  const channel = await openChannel(app, opened, url, env);
  const isNew = !("sessionId" in wanted);
  const status = new Status(wanted.agent ?? (isNew ? app.config.agent.name : "session"));
  const session = await attachTo(channel, wanted, {
    permit,
    queued: (message) => err(`${message}\n`),
    update: (each) => {
      status.update(each);
      update(each);
    },
  });
  opened.use(session);
  status.opened(session.settings);
  if (isNew) for (const line of worktreeLines(session)) err(`${line}\n`);
  return { session, status };
}

function worktreeOf({ worktree, branch }: ChatValues): WorktreeRequest | true | undefined {
  return branch === undefined ? worktree || undefined : { branch };
}

/** Where a session with a work tree works, and what is missing there. */
function worktreeLines({ settings }: Attached): string[] {
  type Meta = { readonly trunkline?: { readonly worktree?: Workplace } };
  const { _meta } = (settings ?? {}) as { readonly _meta?: Meta };
  if (_meta?.trunkline?.worktree === undefined) return [];
  const { folder, branch, warnings } = _meta.trunkline.worktree;
  return [`Works on the branch ${branch} in ${folder}`, ...warnings].map((line) =>
    visibleLine(line),
  );
}

export function screenOf({ out, color, isTerminal, width }: Invocation<ChatValues>) {
  return { out, color, isTerminal, width: () => process.stdout.columns ?? width };
}

/** How a turn ends, or that nobody is there any more who would say it. */
export async function withLoss(
  session: Pick<Attached, "ended">,
  turn: Promise<Ended>,
): Promise<Ended> {
  const lost = session.ended.then((): never => {
    throw new TrunklineError("closed", "The connection was closed. The session is stored.");
  });
  return Promise.race([turn, lost]);
}

function resultOf({ sessionId }: Attached, { stopReason, usage }: Ended, answer: string): object {
  return { session: sessionId, stopReason, answer, ...(usage ? { usage } : {}) };
}
