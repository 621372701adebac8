import { once } from "node:events";

import { background } from "../../base/background.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { selfCommand } from "../../base/process/self-command.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import { VERSION } from "../../base/version.ts";
import { workingFolder } from "../../session/workplace.ts";
import type { Invocation } from "../shell/command.ts";
import { isAttended, openPage } from "../shell/open-page.ts";
import { PROJECT, sampleHome, type SampleHome, type StartedProgram } from "./sample-home.ts";
import { type Line, startScriptedModel } from "./scripted-model.ts";

/** `trunkline demo` */
export async function run(invocation: Invocation): Promise<number> {
  const { values, out, data } = invocation;
  const stop = new AbortController();
  const stopping = untilSignal().then(() => stop.abort(new Error("It was stopped")));
  background(stopping, "Stopping the demo");
  try {
    await using demo = await beginDemo(stop.signal);
    const { link, chat } = demo;
    if (values.json === true) data(`${JSON.stringify({ link, chat })}\n`);
    else {
      await showDemo(demo, invocation);
      out("Stop with Ctrl-C.\n");
    }
    if (!stop.signal.aborted) await once(stop.signal, "abort");
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 1;
    throw error;
  }
}

const PROMPT =
  "Greet the world when nobody is named. Run the tests, then wait for my review comments.";
const GREET = `#!/bin/sh
# Greets somebody.
echo "Hello $1"
`;
const TEST = `test "$(sh greet.sh Ada)" = "Hello Ada" && echo "ok: greets Ada"
test "$(sh greet.sh)" = "Hello world" && echo "ok: greets the world"
`;
const NEW_LINE = 'echo "Hello ${1:-world}"';

/**
 * The script of the session: the next step by the results so far. People may refuse a step or comment late,
 * in a terminal by the command `comment`.
 */
function nextLine(results: string[], comment: string): Line {
  const last = results.at(-1) ?? "";
  if (results.length === 0) {
    return {
      says: "`greet.sh` says `Hello` to nobody when it gets no name. I give it a default.",
      tool: "edit_file",
      arguments: { path: "greet.sh", old_string: 'echo "Hello $1"', new_string: NEW_LINE },
    };
  }
  if (results.length === 1) {
    return {
      says: "Now the tests. That is a command, so you are asked first.",
      tool: "run_command",
      arguments: { command: "sh test.sh" },
    };
  }
  const claimed = results.findIndex((result) => idIn(result) !== undefined);
  if (claimed === -1) {
    if (results.length > 2 && !last.includes("No new review comments")) {
      return `I cannot wait for comments: ${last}`;
    }
    const says =
      "Look at **Changes** (key `2`) and press a line number to comment on that line, or in a terminal " +
      `run \`${comment}\`. I wait for it.`;
    const wait = { tool: "review_wait", arguments: { timeoutSeconds: 300 } };
    return results.length === 2 ? { says, ...wait } : wait;
  }
  switch (results.length - claimed) {
    case 1:
      return {
        says: "A comment. I explain the line in the script.",
        tool: "edit_file",
        arguments: {
          path: "greet.sh",
          old_string: NEW_LINE,
          new_string: `# Without a name, it greets the world.\n${NEW_LINE}`,
        },
      };
    case 2: {
      const text =
        "I explained the line in the script. A language model would do what you wrote; this is a demo.";
      return { tool: "review_reply", arguments: { id: idIn(results[claimed] ?? ""), text } };
    }
    case 3:
      return {
        says: "Answered. Last, a commit on the branch of this session.",
        tool: "git_commit",
        arguments: { message: "Greet the world when nobody is named", paths: ["greet.sh"] },
      };
    default: {
      const [, branch] = /^\[(\S+) [0-9a-f]+\]/m.exec(last) ?? [];
      return branch === undefined
        ? `Nothing was committed: ${last}`
        : `Done. The work is on the branch \`${branch}\`, ${DONE}`;
    }
  }
}

const DONE =
  "and the checkout that it came from is as it was. In a repository of yours, `trunkline session land` " +
  "brings such a branch into it.";

/** The id of a thread in what a review tool answered. */
function idIn(answer: string): string | undefined {
  return /\b(r[a-z0-9]{5}) \(/.exec(answer)?.[1];
}

export type LiveDemo = Awaited<ReturnType<typeof beginDemo>>;

/**
 * A session that works before a person's eyes, and waits for them: the built-in agent with a scripted model
 * in a sample repository, in a gateway of its own. All of it is in a temporary folder, which ends with it.
 */
export async function beginDemo(signal: AbortSignal) {
  await using ending = new AsyncDisposableStack();
  const home = ending.use(await sampleHome(signal));
  const comment = `sh ${shellWord(home.path("comment"))}`;
  const script = (results: string[]): Line => nextLine(results, comment);
  const model = ending.use(await startScriptedModel(PROMPT, script));
  await prepare(home, model.url);
  const gateway = await home.start(["trunkline", "serve", "--port", "0", "--json"]);
  const { login } = JSON.parse(await gateway.line()) as { login: string };
  const ask = editorOf(await home.start(["trunkline", "acp", "--worktree"]));
  const clientInfo = { name: "demo", version: VERSION };
  await ask("initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo });
  const begun = await ask("session/new", { cwd: home.path(PROJECT), mcpServers: [] });
  const sessionId = String(begun["sessionId"]);
  const { trunkline = {} } = begun["_meta"] as { trunkline?: Readonly<Record<string, unknown>> };
  const folder = workingFolder({ cwd: home.path(PROJECT), notes: trunkline });
  await ask("session/set_mode", { sessionId, modeId: "auto-accept" });
  const prompt = [{ type: "text", text: PROMPT }];
  const turn = ask("session/prompt", { sessionId, prompt }, allowReviews);
  // The dashboard shows how the turn ended. Here the rejection only must not be unhandled.
  const handled = turn.catch(() => undefined);
  background(handled, "The session of the demo");
  const { TRUNKLINE_DATA = "", TRUNKLINE_CONFIG = "" } = home.env;
  const files = ["--data", TRUNKLINE_DATA, "--config", TRUNKLINE_CONFIG];
  const command = (...words: string[]): string =>
    [...selfCommand(), ...words, ...files].map(shellWord).join(" ");
  const inFolder = (folder: string, line: string): string =>
    `cd ${shellWord(folder)} && exec ${line}\n`;
  // A person has to type them: in a file they are short.
  const talk = command("chat", "--session", sessionId);
  await home.write("chat", inFolder(home.path(PROJECT), talk));
  const add = command("review", "add", "--file", "greet.sh", "--line", "3");
  await home.write("comment", inFolder(folder, `${add} --comment "\${1:-What does it do?}"`));
  const chat = `sh ${shellWord(home.path("chat"))}`;
  const opened = ending.move();
  return {
    link: `${login}/sessions/${sessionId}`,
    chat,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

type Ask = (
  method: string,
  params: object,
  reply?: (asked: Message) => object | undefined,
) => Promise<Readonly<Record<string, unknown>>>;

/**
 * The smallest client of ACP: it sends one request at a time, and gives its answer. `reply` may answer what is
 * asked meanwhile.
 */
function editorOf(agent: StartedProgram): Ask {
  let last = 0;
  const send = (message: object): void =>
    agent.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  return async (method, params, reply = () => undefined) => {
    const id = ++last;
    send({ id, method, params });
    for (;;) {
      const message = JSON.parse(await agent.line()) as Message;
      const result = message.method === undefined ? undefined : reply(message);
      if (result !== undefined) send({ id: message.id, result });
      if (message.id !== id || message.method !== undefined) continue;
      if (message.error !== undefined) throw new Error(`${method}: ${message.error.message}`);
      return message.result as Readonly<Record<string, unknown>>;
    }
  };
}

/** Allows calls of review tools. Questions about commands and commits are left to the person. */
function allowReviews({ method, params }: Message): object | undefined {
  if (method !== "session/request_permission") return undefined;
  const { toolCall, options } = params as {
    readonly toolCall: { readonly title?: string };
    readonly options: readonly { readonly kind: string; readonly optionId: string }[];
  };
  const optionId = options.find(({ kind }) => kind === "allow_once")?.optionId;
  if (toolCall.title?.startsWith("Call 'review_") !== true || optionId === undefined)
    return undefined;
  return { outcome: { outcome: "selected", optionId } };
}

async function prepare(home: SampleHome, baseUrl: string): Promise<void> {
  await home.write(`${PROJECT}/greet.sh`, GREET);
  await home.write(`${PROJECT}/test.sh`, TEST);
  const config = {
    models: { local: false, default: "demo/scripted", providers: { demo: { baseUrl } } },
    log: { level: "error" },
  };
  await home.write("config.jsonc", JSON.stringify(config, undefined, 2));
  const git = (...args: string[]) => home.run(["git", ...args]);
  await git("init", "-q", "-b", "main");
  await git("config", "user.name", "Ada");
  await git("config", "user.email", "ada@home.example");
  await git("add", ".");
  await git("commit", "-qm", "Greet");
}

/** Opens the demo in a browser, or says how to get to it. */
export async function showDemo(
  { link, chat }: LiveDemo,
  invocation: Pick<Invocation, "env" | "out" | "isTerminal">,
): Promise<void> {
  const { env, out, isTerminal } = invocation;
  if (isAttended(invocation) && (await openPage(link, env))) {
    out("A demo works in your browser, on a sample repository. Answer it there with `y`.\n");
  } else {
    out("A demo works on a sample repository, but no browser can be opened here.\n");
    // Output that is not a terminal may be a log file, which must not contain a login link.
    if (isTerminal) out(`  Open this link, which works once, within 15 minutes:\n  ${link}\n`);
    out(`  Or answer it in another terminal:\n  ${chat}\n`);
  }
  out("It needs no key and no network, and leaves nothing when it ends.\n");
}
