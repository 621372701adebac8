import { TrunklineError } from "../base/errors.ts";
import type { ChildExit } from "../base/process/child-process.ts";
import { maskText } from "../base/text/mask.ts";
import { isObject, objectOf } from "../protocol/acp/methods.ts";
import type { ContentBlock, McpServer } from "../session/agent.ts";
import { SessionError } from "../session/session-error.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Members of ACP's `sessionCapabilities`. */
type SessionCapability =
  | "resume"
  | "list"
  | "fork"
  | "close"
  | "additionalDirectories"
  | "systemPrompt"
  | "title";

/** The capabilities of another agent. ACP initialization: what an agent did not announce, it is not sent. */
export class ExternalCapabilities {
  readonly #name: string;
  readonly #capabilities: JsonObject;

  constructor(name: string, capabilities: JsonObject) {
    this.#name = name;
    this.#capabilities = capabilities;
  }

  /** Whether it announced a method of sessions (ACP `sessionCapabilities`), or to load them. */
  can(what: SessionCapability | "load"): boolean {
    if (what === "load") return this.#capabilities.loadSession === true;
    const offered = objectOf(this.#capabilities.sessionCapabilities)[what];
    return offered !== undefined && offered !== null;
  }

  get hasAuthStatus(): boolean {
    return isObject(objectOf(this.#capabilities.auth).status);
  }

  /** Not in ACP: a Trunkline takes `/pause` and `/continue` while it works on a prompt. */
  get canPause(): boolean {
    return objectOf(objectOf(this.#capabilities._meta).trunkline).pause === true;
  }

  supportsServer({ type }: McpServer): boolean {
    const offered = objectOf(this.#capabilities.mcpCapabilities);
    return type === undefined || (typeof type === "string" && offered[type] === true);
  }

  /** ACP initialization § Prompt Capabilities: every agent supports text and resource links, others are optional. */
  adaptPrompt(prompt: readonly ContentBlock[]): ContentBlock[] {
    const { image, audio, embeddedContext } = objectOf(this.#capabilities.promptCapabilities);
    return prompt.map((block) => {
      if (block.type === "resource" && embeddedContext !== true) return this.#unfold(block);
      if (block.type === "image" && image !== true) throw this.#refuse("images");
      if (block.type === "audio" && audio !== true) throw this.#refuse("audio");
      return block;
    });
  }

  #unfold(block: ContentBlock): ContentBlock {
    const { uri, text } = objectOf(block.resource);
    const name = String(uri);
    if (typeof text !== "string") return { type: "resource_link", uri: name, name };
    return { type: "text", text: `<context uri=${JSON.stringify(name)}>\n${text}\n</context>` };
  }

  #refuse(what: string): TrunklineError {
    const why = `Agent '${this.#name}' does not support ${what}. Leave them out, or choose another agent.`;
    return new TrunklineError("usage", why);
  }
}

interface Agent {
  readonly name: string;
  readonly commandLine: string;
}

/** ACP authentication: says how to log in to an agent. Only the person can, with the agent's own program. */
export function explainLogin(
  error: unknown,
  { name, commandLine }: Agent,
  methods: readonly Readonly<Record<string, unknown>>[],
): unknown {
  if (!(error instanceof SessionError) || error.problem !== "auth-required") return error;
  const ways = methods.map(({ name: way, id, type, args }) => {
    const run = type === "terminal" && Array.isArray(args) ? [commandLine, ...args].join(" ") : "";
    return `${String(way ?? id)}${run === "" ? "" : ` (run: ${run})`}`;
  });
  const offers = ways.length === 0 ? "" : ` It offers: ${ways.join(", ")}.`;
  const says = `Agent '${name}' wants you to log in.${offers} Do that in the editor or with its own program, or give it the key that it reads (\`agents.${name}.env\`); then try again.`;
  const data = { ...error.data, agent: name, authMethods: methods };
  return new SessionError("auth-required", says, data, { cause: error });
}

/** Characters of an agent's last words that are told with the reason of its end. */
const LONGEST_WORDS = 200;

/** Why an agent could not be started. */
export function endedAtOnce(name: string, exit: ChildExit, words = ""): TrunklineError {
  const last = maskText(words).slice(0, LONGEST_WORDS);
  const why = last === "" ? ". Run its command by hand to see why" : `, after saying: ${last}`;
  return new TrunklineError("unavailable", `Agent '${name}' ended at once (${exit})${why}.`);
}
