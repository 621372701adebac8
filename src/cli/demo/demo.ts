import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { paint } from "../shell/layout.ts";
import { type Script, startScriptedModel } from "./scripted-model.ts";
import { idIn, Stage, Transcript } from "./stage.ts";

type DemoValues = OptionValues<never, "keep" | "open">;

interface Played {
  readonly title: string;
  readonly seconds: number;
  readonly error?: string;
}

/** `trunkline demo`: each act by itself, so that one that fails does not hide the others. */
export async function run(invocation: Invocation<DemoValues>): Promise<number> {
  const { values, out, data, color, width } = invocation;
  const show = values.json === true ? () => {} : out;
  const stop = new AbortController();
  background(
    untilSignal().then(() => stop.abort(new Error("It was stopped"))),
    "Stopping the demo",
  );
  if (values.open === true) return await playLive(invocation, stop.signal);
  const begun = performance.now();
  await using ending = new AsyncDisposableStack();
  const model = ending.use(await startScriptedModel(SCRIPT));
  const stage = await Stage.set({
    show: (line) => show(`${paint("dim", line, color)}\n`),
    width,
    signal: stop.signal,
  });
  ending.defer(() => (values.keep === true ? stage.end() : stage[Symbol.asyncDispose]()));
  show(`In ${stage.folder}, with a scripted model instead of a language model.\n`);
  const played: Played[] = [];
  const play = async (title: string, work: () => Promise<void>): Promise<boolean> => {
    show(`\n${paint("bold", title, color)}\n`);
    const from = performance.now();
    const failed = await work().then(
      () => undefined,
      (error: Error) => error.message,
    );
    const seconds = Math.round((performance.now() - from) / 100) / 10;
    const error = failed === undefined ? {} : { error: failed };
    played.push({ title, seconds, ...error });
    if (failed === undefined) show(`${paint("green", "✔", color)} ${seconds} s\n`);
    else show(`${paint("red", `✖ ${failed}`, color)}\n`);
    return failed === undefined;
  };
  if (await play("A repository, a forge and a plugin", () => prepare(stage, model.url))) {
    for (const act of ACTS) {
      if (!stop.signal.aborted) await play(act.title, () => act.play(stage));
    }
  }
  await ending.disposeAsync();
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  const failures = played.filter(({ error }) => error !== undefined);
  const isGood = failures.length === 0 && !stop.signal.aborted;
  const folder = values.keep === true ? { folder: stage.folder } : {};
  if (values.json === true) {
    data(`${JSON.stringify({ ok: isGood, seconds, acts: played, ...folder })}\n`);
  } else {
    const result = isGood
      ? `Everything worked, in ${seconds} s.`
      : `${failures.length} of ${played.length} parts failed. \`trunkline doctor\` says what is missing here.`;
    const left =
      values.keep === true ? `The folder is left: ${stage.folder}` : "The folder is removed.";
    out(`\n${result} ${left}\n`);
  }
  return isGood ? 0 : 1;
}

/** Plays one session for a person in a browser, until they stop it. */
async function playLive(invocation: Invocation<DemoValues>, signal: AbortSignal): Promise<number> {
  const { LiveDemo, showDemo } = await import("./live-demo.ts");
  const { values, out, data } = invocation;
  try {
    await using live = await LiveDemo.begin(signal);
    const { link, chat } = live;
    if (values.json === true) data(`${JSON.stringify({ link, chat })}\n`);
    else {
      await showDemo(live, invocation);
      out("Stop with Ctrl-C.\n");
    }
    if (!signal.aborted) await once(signal, "abort");
    return 0;
  } catch (error) {
    if (signal.aborted) return 1;
    throw error;
  }
}

/** One of the things that are shown. */
interface Act {
  readonly title: string;
  readonly play: (stage: Stage) => Promise<void>;
}

const GREETING = `export function greet(name) {
  return "Hello " + name;
}
`;

/** What the scripted model does with the prompts of the acts. */
const SCRIPT: Script = {
  "review comment": [
    { tool: "review_claim", arguments: {} },
    {
      tool: "edit_file",
      arguments: {
        path: "greet.js",
        old_string: '"Hello " + name',
        new_string: '"Hello " + (name ?? "world")',
      },
    },
    ([claimed = ""]) => ({
      tool: "review_reply",
      arguments: { id: idIn(claimed) ?? "none", text: "Without a name it greets the world now." },
    }),
    "Fixed: without a name it greets the world.",
  ],
  French: [
    {
      tool: "write_file",
      arguments: {
        path: "saluer.js",
        content: 'export const saluer = (nom) => "Bonjour " + nom;\n',
      },
    },
    "Added saluer.js.",
  ],
};

/** Prepares what the acts need: a repository, a forge, a plugin, and a configuration for them. */
async function prepare(stage: Stage, model: string): Promise<void> {
  const forge = pathToFileURL(stage.path("forge")).href;
  await mkdir(stage.path("app"), { recursive: true });
  await mkdir(stage.path("forge"));
  await stage.write("app/greet.js", GREETING);
  await stage.write("plugin.mjs", pluginText());
  stage.env.OPENAI_BASE_URL = model;
  stage.env.OPENAI_API_KEY = "the-scripted-model-needs-none";
  const config = {
    identities: {
      work: {
        provider: "other",
        host: "forge.example",
        user: "ada",
        email: "ada@acme.example",
        match: [{ remote: `${forge}/*` }],
      },
    },
    models: { local: false },
    remote: { protocols: ["file"] },
    bus: {
      listen: "localhost:0",
      plugins: {
        "tools.word": { command: process.execPath, args: [stage.path("plugin.mjs")] },
      },
    },
    log: { level: "error" },
  };
  await stage.write("config.jsonc", JSON.stringify(config, undefined, 2));
  const git = (...args: string[]) => stage.type(["git", ...args]);
  await git("init", "-q", "--bare", "-b", "main", stage.path("forge/app.git"));
  await git("init", "-q", "-b", "main");
  await git("remote", "add", "origin", `${forge}/app.git`);
  await git("config", "user.email", "ada@home.example");
}

/** A plugin that imports the SDK of this program. */
function pluginText(): string {
  const sdk = pathToFileURL(join(dirname(process.argv[1] ?? ""), "plugin.mjs")).href;
  return `import { definePlugin } from ${JSON.stringify(sdk)};
const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const call = ({ text }) => String(text.split(/\\s+/).length);
const tools = { count_words: { description: "Counts the words of a text", input, call } };
definePlugin({ id: "tools.word", version: "1.0.0", tools });
`;
}

const ACTS: readonly Act[] = [
  {
    title: "Identities: the right author, guarded",
    play: async (stage) => {
      await stage.type(["trunkline", "identity", "switch", "work"]);
      await stage.type(["trunkline", "identity", "guard", "install"]);
      await stage.type(["git", "add", "."]);
      const wrong = ["git", "-c", "user.email=ada@home.example", "commit", "-qm", "Greet"];
      const refused = await stage.type(wrong, { code: 1, shown: 2 });
      expect(refused, "guard refuses this commit");
      await stage.type(["git", "commit", "-qm", "Greet"]);
      await stage.type(["git", "push", "-q", "-u", "origin", "main"]);
      const bare = ["--git-dir", stage.path("forge/app.git")];
      const author = ["git", ...bare, "log", "-1", "--format=%an <%ae>"];
      expect(await stage.type(author), "ada <ada@acme.example>");
    },
  },
  {
    title: "Review: a comment on a line, fixed by the agent",
    play: async (stage) => {
      const comment = "Says 'Hello undefined' without a name.";
      const add = ["review", "add", "--file", "greet.js", "--line", "2", "-c", comment];
      await stage.type(["trunkline", ...add]);
      await stage.type(["trunkline", "chat", "--yes", "Work on the review comments"]);
      expect(await stage.type(["git", "diff", "-U0"]), 'name ?? "world"');
      expect(await stage.type(["trunkline", "review", "list"]), "answered");
    },
  },
  {
    title: "Plugin bus: a plugin's tool, called by an MCP client",
    play: async (stage) => {
      const mcp = new Transcript(stage, await stage.start(["trunkline", "mcp"]));
      const clientInfo = { name: "demo", version: VERSION };
      await mcp.ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
      mcp.notify("notifications/initialized");
      await mcp.ask("tools/list", {});
      const call = { name: "count_words", arguments: { text: "one process, one configuration" } };
      const result = await mcp.ask("tools/call", call);
      expect(JSON.stringify(result), '"4"');
    },
  },
  {
    title: "Remote run: an agent on a server, a branch back",
    play: async (stage) => {
      await stage.type(["git", "commit", "-qam", "Greet the world", "--allow-empty"]);
      await stage.type(["git", "push", "-q"]);
      const serve = await stage.start(["trunkline", "serve", "--port", "0", "--json"]);
      const { acp } = JSON.parse(await serve.line()) as { acp: string };
      const prompt = "Add a greeting in French";
      const run = ["trunkline", "run", ".", prompt, "--yes", "--url", acp];
      const said = await stage.type(run, { shown: 12 });
      const branch = said.trimEnd().split("\n").at(-1) ?? "";
      await stage.type(["git", "fetch", "-q", "origin", branch]);
      expect(await stage.type(["git", "show", "FETCH_HEAD:saluer.js"]), "Bonjour");
    },
  },
  {
    title: "Conversations: what an editor says and gets over ACP",
    play: async (stage) => {
      const acp = new Transcript(stage, await stage.start(["trunkline", "acp"]));
      await acp.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
      const cwd = stage.path("app");
      const { sessionId } = await acp.ask("session/new", { cwd, mcpServers: [] });
      const prompt = [{ type: "text", text: "/status" }];
      const { stopReason } = await acp.ask("session/prompt", { sessionId, prompt });
      expect(String(stopReason), "end_turn");
    },
  },
];

function expect(text: string, part: string): void {
  if (text.includes(part)) return;
  throw new TrunklineError("unavailable", `Expected '${part}' in: ${text.slice(0, 200)}`);
}
