import { resolve } from "node:path";

import { belongingTo } from "../base/background.ts";
import type { Confine } from "../base/process/child-process.ts";
import type {
  CreateTerminalParams,
  ElicitParams,
  PermissionParams,
  ReadFileParams,
  TerminalParams,
  WriteFileParams,
} from "../protocol/acp/schema.gen.ts";
import type { SessionUpdate, Turn } from "../session/agent.ts";
import { type AgentIdentity, identityVariables } from "./command-environment.ts";
import type { CommandSandbox } from "./files/command-sandbox.ts";
import { ExternalFiles } from "./external-files.ts";
import { ExternalTerminals } from "./external-terminals.ts";

export interface ExternalServicesOptions {
  readonly sessionId: string;
  /** See `AgentOpenOptions`. */
  readonly confirm?: (() => Promise<void>) | undefined;
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  readonly identity: AgentIdentity | undefined;
  readonly confine: Confine;
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
  readonly #files: ExternalFiles;

  constructor(options: ExternalServicesOptions) {
    this.#options = options;
    this.terminals = new ExternalTerminals(options.say, options.confine);
    this.#files = new ExternalFiles([options.cwd, ...options.additionalDirectories]);
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
    const range = {
      ...(typeof line === "number" ? { line } : {}),
      ...(typeof limit === "number" ? { limit } : {}),
    };
    const target = await this.#files.within(path);
    const read = this.#turn?.client.fs?.readTextFile;
    // The editor knows files by their paths before links are resolved.
    const content = read ? await read(resolve(path), range) : await this.#files.read(target, range);
    return { content };
  }

  async writeTextFile({ path, content }: WriteFileParams): Promise<unknown> {
    await this.#options.confirm?.();
    const target = await this.#files.withinToWrite(path);
    const write = this.#turn?.client.fs?.writeTextFile;
    if (write !== undefined) await write(resolve(path), content);
    else await this.#files.write(target, content);
    return {};
  }

  /**
   * ACP terminal/create: at the editor where possible, where people see it, else in this process. A
   * sandbox is here, and not at the editor.
   */
  async createTerminal(params: CreateTerminalParams): Promise<unknown> {
    const { command, args, env, outputByteLimit } = params;
    await this.#options.confirm?.();
    const cwd = await this.#files.within(params.cwd ?? this.#options.cwd);
    const confinement = await this.#options.sandbox?.enter((host) => this.#mayConnect(host));
    const { terminal } = this.#turn?.client ?? {};
    const host = confinement === undefined ? terminal : undefined;
    const isOurs = host === undefined && confinement === undefined;
    const own = identityVariables(this.#options.identity, isOurs);
    const variables = [...own, ...(env ?? [])];
    const options = {
      command,
      cwd,
      ...(args ? { args } : {}),
      ...(variables.length > 0 ? { env: variables } : {}),
      ...(typeof outputByteLimit === "number" ? { outputByteLimit } : {}),
    };
    // The agent may serve other sessions too.
    const belongs = { session: this.#options.sessionId };
    return {
      terminalId: await belongingTo(belongs, () =>
        this.terminals.create(options, host, confinement),
      ),
    };
  }

  async #mayConnect(host: string): Promise<boolean> {
    const always = `Always allow in ${this.#options.cwd}: connections of commands to ${host}`;
    const outcome = await this.#turn?.requestPermission({
      toolCall: { toolCallId: crypto.randomUUID(), title: `Connect to ${host}`, kind: "fetch" },
      options: [
        { optionId: "allow", name: "Allow", kind: "allow_once" },
        { optionId: "always", name: always, kind: "allow_always" },
        { optionId: "reject", name: "Reject", kind: "reject_once" },
      ],
      subject: { action: "connect", host },
    });
    return outcome?.outcome === "selected" && outcome.kind.startsWith("allow");
  }

  async waitForExit({ terminalId }: TerminalParams): Promise<unknown> {
    const terminal = this.terminals.find(terminalId);
    const alive = setInterval(() => this.#turn?.progressed(), ALIVE_EVERY);
    try {
      return await terminal.waitForExit();
    } finally {
      clearInterval(alive);
    }
  }

  async elicit(question: ElicitParams): Promise<unknown> {
    const elicit = this.#turn?.client.elicit;
    return (await elicit?.({ ...question })) ?? { action: "cancel" };
  }

  get #turn(): Turn | undefined {
    return this.#options.turn();
  }
}
