import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { background } from "../../base/background.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import type { AppContext } from "../../config/app-context.ts";
import { confirm, editText } from "../shell/ask.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { Conversation } from "./conversation.ts";
import { LiveScreen } from "./live-screen.ts";
import { leftFor, type MoveRequest } from "./move-chat.ts";
import type { PickerItem } from "./picker.ts";
import { PromptHistory } from "./prompt-history.ts";
import { terminalInput } from "./terminal-input.ts";
import type { ChatInvocation } from "./open-chat.ts";

/** Loaded after the prompt is drawn, so that the person can type meanwhile. */
const opening = async () => await import("./open-chat.ts");

/** `trunkline chat` at a terminal. The prompt is there before the session is. */
export async function converse(invocation: ChatInvocation): Promise<MoveRequest | undefined> {
  const { values, cwd, env, color, out } = invocation;
  const app = await openQuietApp(invocation);
  await using opened = new AsyncDisposableStack();
  const screen = new LiveScreen({
    out,
    color,
    size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
  });
  const history = new PromptHistory(app.config.data);
  const pasted = opened.use(pastedImages(env));
  const conversation = new Conversation({
    screen,
    history,
    out,
    stop: () => input.stop(),
    edit: async (text) => {
      input.give();
      using ends = new DisposableStack();
      ends.defer(() => input.take());
      return await editText(text, "PROMPT.md", env);
    },
    clipboardImage: () => pasted.take(),
    sessions: values.url === undefined ? () => listSessions(app) : undefined,
    wanted: async (sessionId) => (await opening()).wantedSession(invocation, app, sessionId),
  });
  opened.use(conversation);
  const input = terminalInput({
    input: process.stdin,
    out,
    key: (key) => conversation.key(key),
    paste: (text) => conversation.paste(text),
    back: () => conversation.back(),
    end: () => conversation.leave(),
  });
  opened.use(input);
  const resized = (): void => conversation.draw();
  process.stdout.on("resize", resized);
  opened.defer(() => {
    process.stdout.off("resize", resized);
  });
  background(history.load(), "Reading earlier prompts");
  const leaving = untilSignal().then(() => conversation.leave());
  background(leaving, "Leaving a conversation");
  conversation.drawNow();
  const begin = async (): Promise<{ readonly ended: Promise<void> }> => {
    const { agentName, openClient, wantedSession, withOfferedAgent, worktreeLines } =
      await opening();
    const offered = await withOfferedAgent(invocation, app, async (question) => {
      screen.clear();
      input.give();
      try {
        return await confirm(question);
      } finally {
        input.take();
        conversation.draw();
      }
    });
    const client = await openClient(invocation, offered.app, opened, {
      update: (sessionId, update) => conversation.update(sessionId, update),
      permit: conversation.permit,
      elicit: conversation.elicit,
      queued: (message) => conversation.say(message),
    });
    const wanted = await wantedSession(invocation, offered.app, values.session, offered.agent);
    const folder = "cwd" in wanted ? wanted.cwd : cwd;
    const session = await conversation.begin(
      client,
      wanted,
      agentName(wanted, offered.app),
      folder,
    );
    if (!("sessionId" in wanted)) for (const line of worktreeLines(session)) conversation.say(line);
    return client;
  };
  const beginning = begin();
  // The person may leave before the session is open.
  beginning.catch(() => {});
  try {
    const client = await Promise.race([beginning, conversation.left]);
    if (client !== undefined) await Promise.race([conversation.left, client.ended]);
  } finally {
    await conversation.farewell();
  }
  return leftFor(conversation.movesTo, conversation.sessionId, out);
}

async function listSessions(app: AppContext): Promise<readonly PickerItem[]> {
  const { sessionItem, sessionRows } = await import("./session-choice.ts");
  return (await sessionRows(app.config.data)).map(sessionItem);
}

/** Programs that write the image of the clipboard to standard output, the first that can is used. */
const CLIPBOARDS = [
  ["wl-paste", "--type", "image/png"],
  ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
  ["pngpaste", "-"],
] as const;
const MOST_IMAGE_BYTES = 32 * 1024 * 1024;

/** Images that were pasted, as files until the terminal is left. */
function pastedImages(env: NodeJS.ProcessEnv) {
  let folder: ReturnType<typeof mkdtempDisposableSync> | undefined;
  let count = 0;

  async function take(): Promise<string | undefined> {
    const { execFile } = process.getBuiltinModule("node:child_process");
    const options = { encoding: "buffer", maxBuffer: MOST_IMAGE_BYTES, timeout: 5_000 } as const;
    for (const [command, ...args] of CLIPBOARDS) {
      const image = await new Promise<Buffer | undefined>((resolve) => {
        execFile(command, args, { ...options, env }, (error, stdout) =>
          resolve(error === null && stdout.length > 0 ? stdout : undefined),
        );
      });
      if (image === undefined) continue;
      folder ??= mkdtempDisposableSync(join(tmpdir(), "trunkline-chat-"));
      const path = join(folder.path, `pasted-${++count}.png`);
      writeFileSync(path, image, { mode: 0o600 });
      return path;
    }
    return undefined;
  }

  return { take, [Symbol.dispose]: () => folder?.remove() };
}
