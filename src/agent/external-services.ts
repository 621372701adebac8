import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { background, belongingTo, currentSession } from "../base/background.ts";
import { defined } from "../base/defined.ts";
import { TrunklineError } from "../base/errors.ts";
import { writeOver } from "../base/file/overwrite.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { type Confiner, OwnedChild } from "../base/process/child-process.ts";
import { closeStreams } from "../base/process/close-streams.ts";
import { isGitOwned } from "../git/git-folder.ts";
import type {
  CreateTerminalParams,
  ElicitParams,
  PermissionParams,
  ReadFileParams,
  TerminalParams,
  WriteFileParams,
} from "../protocol/acp/schema.gen.ts";
import type {
  AgentOpenOptions,
  SessionUpdate,
  Terminal,
  TerminalExit,
  TerminalHost,
  TerminalOptions,
  TerminalOutput,
  Turn,
} from "../session/agent.ts";
import { SessionError } from "../session/session-error.ts";
import { fileProblem, linesOf, noFile } from "../session/text-file.ts";
import {
  type AgentIdentity,
  harmlessVariables,
  identityVariables,
  loginPath,
} from "./command-environment.ts";
import type { CommandSandbox, Confinement } from "./files/command-sandbox.ts";
import { WHEN_WATCHED } from "./files/run-line.ts";
import { LARGEST_FILE } from "./files/turn-files.ts";
import { followPath, FOR_GIT, isInside } from "./files/workspace.ts";
import { fencedEnd, optionsFor } from "./tools/tool-runner.ts";

export interface ExternalServicesOptions extends Pick<
  AgentOpenOptions,
  "sessionId" | "confirm" | "cwd" | "additionalDirectories"
> {
  /** The identity that the agent uses for git. */
  readonly identity: AgentIdentity | undefined;
  readonly confine: Confiner;
  readonly sandbox?: CommandSandbox | undefined;
  /** The running turn. */
  readonly turn: () => Turn | undefined;
  readonly say: (update: SessionUpdate) => void;
}

/** Milliseconds between signs of progress while an agent waits for a command. */
const ALIVE_EVERY = 5_000;

/** Answers the requests of another agent in one session, through the editor where it offers the service. */
export class ExternalServices {
  readonly terminals: ExternalTerminals;
  readonly #options: ExternalServicesOptions;
  readonly #folders: readonly string[];

  constructor(options: ExternalServicesOptions) {
    this.#options = options;
    this.terminals = new ExternalTerminals(options.say, options.confine);
    this.#folders = [options.cwd, ...options.additionalDirectories];
  }

  async permission({ toolCall, options, _meta }: PermissionParams): Promise<unknown> {
    const turn = this.#turn;
    if (turn === undefined) return { outcome: { outcome: "cancelled" } };
    const meta = _meta ? { _meta } : {};
    const asked = await turn.requestPermission({ toolCall, options, ...meta });
    if (asked.outcome === "cancelled") return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: asked.optionId } };
  }

  /** ACP fs/read_text_file: through the editor where possible, which knows unsaved text. */
  async readTextFile({ path, line, limit }: ReadFileParams): Promise<unknown> {
    const range = defined({ line: line ?? undefined, limit: limit ?? undefined });
    const target = await this.#within(path);
    const read = this.#turn?.client.fs?.readTextFile;
    // The editor knows files by their paths before links are resolved.
    const content = read ? await read(resolve(path), range) : await this.#read(target, range);
    return { content };
  }

  async writeTextFile({ path, content }: WriteFileParams): Promise<unknown> {
    await this.#options.confirm?.();
    const target = await this.#withinToWrite(path);
    const write = this.#turn?.client.fs?.writeTextFile;
    if (write !== undefined) await write(resolve(path), content);
    else await this.#write(target, content);
    return {};
  }

  /**
   * ACP terminal/create: at the editor where possible, where people see it, else in this process. A command
   * in a sandbox always runs in this process, because editors have no sandbox.
   */
  async createTerminal(params: CreateTerminalParams): Promise<unknown> {
    const { command, args, env, outputByteLimit } = params;
    await this.#options.confirm?.();
    const cwd = await this.#within(params.cwd ?? this.#options.cwd);
    const confinement = await this.#options.sandbox?.enter((host) => this.#mayConnect(host));
    const { terminal } = this.#turn?.client ?? {};
    const host = confinement === undefined ? terminal : undefined;
    const isOurs = host === undefined && confinement === undefined;
    const own = identityVariables(this.#options.identity, isOurs);
    const variables = [...own, ...(env ?? [])];
    const unset = { args: args ?? undefined, outputByteLimit: outputByteLimit ?? undefined };
    const options = {
      ...{ command, cwd, ...defined(unset) },
      ...(variables.length > 0 ? { env: variables } : {}),
    };
    // The agent may serve other sessions too.
    const belongs = { session: this.#options.sessionId };
    const create = () => this.terminals.create(options, host, confinement);
    return { terminalId: await belongingTo(belongs, create) };
  }

  async #mayConnect(host: string): Promise<boolean> {
    const subject = { action: "connect", host } as const;
    const covers = `connections of commands to ${host}`;
    const outcome = await this.#turn?.requestPermission({
      toolCall: { toolCallId: crypto.randomUUID(), title: `Connect to ${host}`, kind: "fetch" },
      options: optionsFor({ subject, covers }, this.#options.cwd),
      subject,
    });
    return outcome?.outcome === "selected" && outcome.kind.startsWith("allow");
  }

  async waitForExit({ terminalId }: TerminalParams): Promise<unknown> {
    const terminal = this.terminals.find(terminalId);
    using _ = setInterval(() => this.#turn?.progressed(), ALIVE_EVERY);
    return await terminal.waitForExit();
  }

  async elicit(question: ElicitParams): Promise<unknown> {
    const elicit = this.#turn?.client.elicit;
    return (await elicit?.({ ...question })) ?? { action: "cancel" };
  }

  get #turn(): Turn | undefined {
    return this.#options.turn();
  }

  /** Resolves a path. Throws if it leads out of the workspace, by `..` or by a link. */
  async #within(path: string): Promise<string> {
    const real = await followPath(resolve(path));
    const roots = this.#folders.map((folder) => followPath(resolve(folder)));
    if (isInside(real, await Promise.all(roots))) return real;
    const why = `'${path}' is outside of the workspace`;
    throw new SessionError("permission-denied", why, { path });
  }

  /** Resolves a path to write to. Throws also for git's own files. */
  async #withinToWrite(path: string): Promise<string> {
    const real = await this.#within(path);
    if (!isGitOwned(resolve(path)) && !isGitOwned(real)) return real;
    const why = `'${path}' may not be written: ${FOR_GIT}`;
    throw new SessionError("permission-denied", why, { path });
  }

  async #read(path: string, range: { line?: number; limit?: number }): Promise<string> {
    try {
      const bytes = readRegularFile(path, { most: LARGEST_FILE, inside: this.#folders });
      if (bytes === undefined) throw noFile(path);
      return linesOf(bytes.toString("utf8"), range);
    } catch (error) {
      throw fileProblem(error, path);
    }
  }

  async #write(path: string, content: string): Promise<void> {
    try {
      await mkdir(dirname(path), { recursive: true });
      writeOver(path, content, this.#folders);
    } catch (error) {
      throw fileProblem(error, path);
    }
  }
}

/** Terminals that a session may have at once. */
const MOST = 32;
/** Milliseconds between two updates with the output of a command. */
const SHOW_EVERY = 500;

type Content = Readonly<Record<string, unknown>>;
type Options = TerminalOptions & { readonly cwd: string };

/** The terminals of one session: at the editor where it offers them, else in this process. */
class ExternalTerminals {
  readonly #terminals = new Map<string, Terminal>();
  /** Tool calls with terminals of ours, whose ids the editor does not know. */
  readonly #showing = new Map<string, { toolCallId: unknown; content: readonly Content[] }>();
  readonly #shownAt = new Map<string, number>();
  readonly #show: (update: SessionUpdate) => void;
  readonly #confine: Confiner;

  /** `show` sends a tool call again when its command has new output. */
  constructor(show: (update: SessionUpdate) => void, confine: Confiner) {
    this.#show = show;
    this.#confine = confine;
  }

  /** Without a host, the command runs here: in its own sandbox, or in that of the agent. */
  async create(
    options: Options,
    host: TerminalHost | undefined,
    confinement?: Confinement,
  ): Promise<string> {
    if (this.#terminals.size >= MOST) {
      await confinement?.[Symbol.asyncDispose]();
      const why = `Cannot open a terminal: ${MOST} are open. Release one first.`;
      throw new TrunklineError("limit", why);
    }
    const terminal =
      host === undefined ? await this.#start(options, confinement) : await host.create(options);
    this.#terminals.set(terminal.terminalId, terminal);
    return terminal.terminalId;
  }

  find(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (terminal !== undefined) return terminal;
    throw new TrunklineError("not-found", `There is no terminal '${id.slice(0, 64)}'.`);
  }

  async release(id: string): Promise<void> {
    const terminal = this.find(id);
    try {
      // Its last output is shown before it is forgotten.
      await terminal.release();
    } finally {
      this.#terminals.delete(id);
      this.#showing.delete(id);
      this.#shownAt.delete(id);
    }
  }

  /** Kills and releases all terminals. */
  async clear(): Promise<void> {
    const ids = [...this.#terminals.keys()];
    await Promise.allSettled(ids.map((id) => this.release(id)));
  }

  /** Replaces terminals of ours in an update by their output as text. */
  translate(update: SessionUpdate): SessionUpdate {
    const { toolCallId } = update;
    if (toolCallId === undefined) return update;
    const { content } = update;
    if (!Array.isArray(content)) return update;
    const parts = content as readonly Content[];
    const own = parts.map(({ terminalId }) => String(terminalId)).filter((id) => this.#isOwn(id));
    if (own.length === 0) return update;
    for (const id of own) this.#showing.set(id, { toolCallId, content: parts });
    return { ...update, content: parts.map((part) => this.#render(part)) };
  }

  #isOwn(id: string): boolean {
    return this.#terminals.get(id) instanceof ExternalTerminal;
  }

  /** Starts a command in its own process group, without our secrets. */
  async #start(options: Options, confinement: Confinement | undefined): Promise<ExternalTerminal> {
    const { command, args = [], env = [], cwd, outputByteLimit = USUAL_OUTPUT } = options;
    const { confine = this.#confine } = confinement ?? {};
    await using starting = new AsyncDisposableStack();
    starting.use(confinement);
    const variables = harmlessVariables(process.env);
    // A command without arguments is a line for the shell.
    const run = args.length > 0 ? 'exec "$0" "$@"' : 'eval "$0"';
    const program = {
      command: "/bin/sh",
      args: ["-c", `${WHEN_WATCHED}${run}`, command, ...args],
      env: {
        ...variables,
        PATH: await loginPath(variables),
        ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
      },
      cwd,
      serves: currentSession(),
    };
    const child = await OwnedChild.start(confine(program));
    starting.move();
    const limit = Math.min(outputByteLimit, MOST_OUTPUT);
    const terminal = new ExternalTerminal(child, limit, confinement);
    child.stdout.on("data", () => this.#refreshSoon(terminal.terminalId));
    const ended = terminal.waitForExit().then(() => this.#refresh(terminal.terminalId));
    background(ended, "Showing the end of a command");
    return terminal;
  }

  #refreshSoon(id: string): void {
    const now = performance.now();
    if (now - (this.#shownAt.get(id) ?? 0) < SHOW_EVERY) return;
    this.#shownAt.set(id, now);
    this.#refresh(id);
  }

  #refresh(id: string): void {
    const showing = this.#showing.get(id);
    if (showing === undefined) return;
    const { toolCallId } = showing;
    const content = showing.content.map((part) => this.#render(part));
    this.#show({ sessionUpdate: "tool_call_update", toolCallId, content });
  }

  #render(part: Content): Content {
    const terminal = this.#terminals.get(String(part.terminalId));
    if (part.type !== "terminal" || !(terminal instanceof ExternalTerminal)) return part;
    const { output, exitStatus } = terminal.said;
    const { exitCode, signal } = exitStatus ?? {};
    const end = exitStatus === undefined ? "" : `\n(${signal ?? `exit code ${exitCode}`})`;
    const text = fencedEnd(`${output.trimEnd()}${end}`);
    return { type: "content", content: { type: "text", text } };
  }
}

/** Bytes of output that are kept, unless the agent sets outputByteLimit. */
const USUAL_OUTPUT = 1024 * 1024;
const MOST_OUTPUT = 8 * USUAL_OUTPUT;

/** A terminal (ACP terminals) in this process, for agents whose editor has none. */
class ExternalTerminal implements Terminal {
  readonly terminalId = crypto.randomUUID();
  readonly #child: OwnedChild;
  readonly #limit: number;
  readonly #confinement: Confinement | undefined;
  readonly #ended: Promise<TerminalExit>;
  #output = "";
  #isCut = false;
  #exit: TerminalExit | undefined;

  /** `limit` is in bytes of output. `confinement` is disposed of when the command has ended. */
  constructor(child: OwnedChild, limit: number, confinement: Confinement | undefined) {
    this.#child = child;
    this.#limit = limit;
    this.#confinement = confinement;
    child.stdin.end("\n");
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
      // Trimmed rarely, since it copies.
      if (this.#output.length > this.#limit * 2 + 65_536) this.#trim();
    });
    child.stdout.on("error", () => {});
    this.#ended = this.#end();
  }

  async output(): Promise<TerminalOutput> {
    return this.said;
  }

  /** The output and exit status so far. */
  get said(): TerminalOutput {
    this.#trim();
    const exitStatus = this.#exit === undefined ? {} : { exitStatus: this.#exit };
    return { output: this.#output, truncated: this.#isCut, ...exitStatus };
  }

  waitForExit(): Promise<TerminalExit> {
    return this.#ended;
  }

  async kill(): Promise<void> {
    this.#child.kill();
    await Promise.all([this.#ended, this.#child.gone]);
  }

  release(): Promise<void> {
    return this.kill();
  }

  async #end(): Promise<TerminalExit> {
    const { stdout } = this.#child;
    const closed = new Promise((resolve) => stdout.once("close", resolve));
    const exit = await this.#child.exit;
    const callOff = closeStreams(stdout);
    await closed;
    callOff();
    if (this.#confinement !== undefined) {
      await this.#confinement[Symbol.asyncDispose]();
      this.#output += this.#confinement.notes.map((note) => `Git: ${note}.\n`).join("");
    }
    this.#exit = typeof exit === "number" ? { exitCode: exit } : { exitCode: null, signal: exit };
    return this.#exit;
  }

  /** ACP terminal/create § outputByteLimit: keeps the end of the output, cut at a character boundary. */
  #trim(): void {
    const bytes = Buffer.from(this.#output);
    let from = bytes.length - this.#limit;
    if (from <= 0) return;
    this.#isCut = true;
    while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++;
    this.#output = bytes.toString("utf8", from);
  }
}
