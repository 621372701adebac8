import { attempt } from "../../base/attempt.ts";
import { isObject, parsedJson } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isInside, realPath } from "../../base/file/path.ts";
import { type Rate, RateLimiter } from "../../base/limit/rate-limiter.ts";
import type { Principal } from "../../base/principal.ts";
import { glob } from "../../base/text/glob.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import type { ProfileSettings } from "../../config/schema/schema.gen.ts";
import { Policy } from "../policy.ts";
import {
  type Arguments,
  type Caller,
  errorResult,
  type Prompt,
  type ResourceProvider,
  textResult,
  type Tool,
  type ToolOverride,
  type ToolResult,
} from "../tool.ts";
import { skeleton } from "../offer/skeleton.ts";
import { OWN_SERVER } from "./own-server.ts";
import { rankTools, serverOf } from "./rank-tools.ts";
import { loadVocabulary, type Vocabulary } from "./vocabulary.ts";

/**
 * Patterns for names that are offered, and for names that are not. A name that matches both is not offered.
 */
type Patterns = NonNullable<ProfileSettings["servers"]>;

/** The properties of a client by which its profile is chosen. */
export interface ProfileSubject {
  readonly door: string;
  /** The name that the program gives itself. */
  readonly client: string;
  /** The folder that it works in, if its door knows it without asking. */
  readonly folder?: string | undefined;
  readonly principal: Principal;
  /** The profile that it was started with. */
  readonly named?: string | undefined;
}

/** `..` between slashes, also escaped: a URI with it may lead out of what its pattern allows. */
const LEADS_UP = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:[/\\?#]|%2f|%5c|$)/i;

/** What a client sees of an offer, under which names, and what it may call. */
export class Profile {
  readonly name: string;
  /** Why it offers nothing, if it is not in the configuration. */
  readonly problem: string | undefined;
  /** An additional policy: the stricter of the two decisions counts. */
  readonly policy: Policy | undefined;
  /** Set if it offers two tools, to search and to call, instead of all tools. */
  readonly search: typeof TOOL_SEARCH | undefined;
  readonly toolNames: ClientNames;
  readonly promptNames: ClientNames;
  readonly #settings: ProfileSettings;
  readonly #servers: Filter;
  readonly #tools: Filter;
  readonly #prompts: Filter;
  readonly #resources: Filter;
  readonly #rates: readonly (readonly [(tool: string) => boolean, RateLimiter])[];
  readonly #shown = new WeakMap<Tool, Tool>();
  readonly #overrides: ReadonlyMap<string, ToolOverride>;

  constructor(
    name: string,
    settings: ProfileSettings,
    overrides: ReadonlyMap<string, ToolOverride> = new Map(),
    problem?: string,
  ) {
    const { policy, servers, tools, prompts, resources, rates = [] } = settings;
    this.name = name;
    this.problem = problem;
    this.#settings = settings;
    this.search = settings.search === true ? TOOL_SEARCH : undefined;
    this.#servers = new Filter(servers);
    this.#tools = new Filter(tools);
    this.#prompts = new Filter(prompts);
    this.#resources = new Filter(resources);
    this.toolNames = new ClientNames(tools?.rename);
    this.#overrides = overrides;
    this.promptNames = new ClientNames(prompts?.rename);
    if (policy !== undefined) {
      this.policy = new Policy({ default: policy.default ?? "allow", rules: policy.rules ?? [] });
    }
    this.#rates = rates.map(({ tool = "*", calls, seconds }) => {
      const rate: Rate = { limit: calls, windowMs: seconds * 1000 };
      return [glob(tool), new RateLimiter(rate)] as const;
    });
  }

  /** Whether a client that names no profile gets this one. */
  fits({ door, client, folder, principal }: ProfileSubject): boolean {
    const wanted = this.#settings.for;
    if (wanted === undefined) return false;
    const { clients, tokens, doors, projects } = wanted;
    if (!isAmong(clients, client) || !isAmong(tokens, principal.name)) return false;
    if (doors?.some((one) => one === door) === false) return false;
    if (projects === undefined) return true;
    if (folder === undefined) return false;
    const real = realPath(folder);
    return projects.some((project) => isInside(real, realPath(project)));
  }

  /** Whether it changes any tool. */
  get hasOverrides(): boolean {
    return this.#overrides.size > 0;
  }

  /**
   * The override of a tool. The tool's name here depends on the other servers, so its name at its own server
   * is matched, too: what is hidden stays hidden.
   */
  overrideOf({ definition: { name }, source }: Pick<Tool, "definition" | "source">) {
    const all = this.#overrides;
    if (source === undefined) return all.get(name);
    return all.get(`${source.server}/${source.name}`) ?? all.get(name) ?? all.get(source.name);
  }

  /** Why a tool is not offered although the patterns match it: its override does not fit it any more. */
  suspension(tool: Tool): string | undefined {
    const misfit = this.overrideOf(tool)?.misfit(tool.definition);
    if (misfit === undefined) return undefined;
    const name = visibleLine(tool.definition.name);
    return (
      `'${name}' is suspended: the profile '${this.name}' changes it, but ${visibleLine(misfit)}. ` +
      `A person can compare both with \`trunkline tool diff ${name}\`.`
    );
  }

  hasServer(server: string = OWN_SERVER): boolean {
    return this.#servers.has(server);
  }

  hasTool({
    definition: { name },
    source,
    bringer,
  }: Pick<Tool, "definition" | "source" | "bringer">): boolean {
    if (!this.hasServer(source?.server ?? bringer) || !this.toolNames.isShown(name)) return false;
    return this.#tools.has(name, source);
  }

  hasPrompt({ definition: { name }, source }: Pick<Prompt, "definition" | "source">): boolean {
    if (!this.hasServer(source?.server) || !this.promptNames.isShown(name)) return false;
    return this.#prompts.has(name, source);
  }

  /** `server` is the server of a resource, unless it is our own. */
  hasResource(uri: string, server?: string): boolean {
    if (!this.hasServer(server)) return false;
    if (this.#resources.isOpen) return true;
    if (LEADS_UP.test(uri) || !this.#resources.has(uri)) return false;
    return !this.#resources.denies([plainUri(uri)]);
  }

  /** Judged by the URI that its server has for it, whatever address it is shown under. */
  async hasResourceOf(provider: ResourceProvider, uri: string): Promise<boolean> {
    if (provider.isCallers === true) return true;
    const source = await provider.sourceOf?.(uri);
    return this.hasResource(source?.name ?? uri, source?.server);
  }

  /** The resources or templates of a provider that the profile shows. */
  async resourcesOf<T>(
    provider: ResourceProvider,
    all: readonly T[],
    uriOf: (one: T) => string,
  ): Promise<readonly T[]> {
    const shown: T[] = [];
    for (const one of all) if (await this.hasResourceOf(provider, uriOf(one))) shown.push(one);
    return shown;
  }

  /** A tool as the client sees it. */
  shown(tool: Tool): Tool {
    const name = this.toolNames.shown(tool.definition.name);
    const override = this.overrideOf(tool);
    if (name === tool.definition.name && override === undefined) return tool;
    return this.#shown.getOrInsertComputed(tool, () => {
      const definition = override?.shown(tool.definition) ?? tool.definition;
      return { ...tool, definition: { ...definition, name } };
    });
  }

  /** Counts a call. Milliseconds until it may be made, 0 where it may be now. */
  wait(tool: string, { principal, client }: Caller): number {
    let wait = 0;
    for (const [fits, limiter] of this.#rates) {
      if (fits(tool)) wait = Math.max(wait, limiter.take(`${principal.id} ${client}`));
    }
    return wait;
  }
}

/** A URI as servers read it: `FILE:///%73ecret/./a` is `file:///secret/a` (RFC 3986, section 6.2.2). */
function plainUri(uri: string): string {
  const normal = URL.parse(uri)?.href ?? uri;
  return normal.replace(/%[0-7][\da-f]|(?:%[89a-f][\da-f])+/gi, (escaped) => {
    return attempt(() => decodeURIComponent(escaped), escaped);
  });
}

/** Whether a name fits one of the patterns; where there are none, any does. */
function isAmong(patterns: readonly string[] | undefined, name: string | undefined): boolean {
  if (patterns === undefined) return true;
  return name !== undefined && patterns.some((pattern) => glob(pattern)(name));
}

/** The name of a tool, prompt or resource at its server. */
interface Source {
  readonly server: string;
  readonly name: string;
}

class Filter {
  readonly #allow: readonly ((name: string) => boolean)[] | undefined;
  readonly #deny: readonly ((name: string) => boolean)[];
  /** Everything fits. */
  readonly isOpen: boolean;

  constructor({ allow, deny = [] }: Patterns = {}) {
    this.#allow = allow?.map(glob);
    this.#deny = deny.map(glob);
    this.isOpen = allow === undefined && deny.length === 0;
  }

  /**
   * Names here depend on the other servers: a second `read` becomes `notes_read`. So a pattern may also say
   * `notes/read`, and a pattern that denies is also compared with the name at the server.
   */
  has(name: string, source?: Source): boolean {
    if (this.isOpen) return true;
    const names = source === undefined ? [name] : [name, `${source.server}/${source.name}`];
    if (this.denies(source === undefined ? names : [...names, source.name])) return false;
    return this.#allow?.some((fits) => names.some(fits)) ?? true;
  }

  denies(names: readonly string[]): boolean {
    return this.#deny.some((fits) => names.some(fits));
  }
}

const SEARCH_TOOL = "search_tools";
const CALL_TOOL = "call_tool";

/** Servers that the description names: a longer list would cost what the search saves. */
const MOST_SERVERS = 60;

type Answer = ToolResult | Promise<ToolResult>;

/** The part of the toolbox that the two search tools use. */
interface SearchBackend {
  /** Resolves when it is known which tools there are. */
  readonly known: () => Promise<void> | undefined;
  /** The tools that the caller may find. */
  readonly tools: () => readonly Tool[];
  /** Records a search in the audit. */
  readonly found: (work: Promise<ToolResult>) => Promise<ToolResult>;
  readonly call: (name: string, args: Arguments) => Answer;
}

/** The two tools that clients get instead of all tools, if their profile has `search`. */
const TOOL_SEARCH = {
  /** Their definitions, for lists. */
  list: (tools: readonly Tool[]): readonly Tool[] => [
    definedAs(searchDefinition(tools)),
    definedAs(CALL_DEFINITION),
  ],
  /** Whether it is the name of one of them. */
  has: (name: string): boolean => name === SEARCH_TOOL || name === CALL_TOOL,
  /** Answers a call of one of them; undefined for any other tool. */
  answer(name: string, args: Arguments, backend: SearchBackend): Answer | undefined {
    const find = async () => {
      await backend.known();
      return searchFor(args, backend.tools(), await loadVocabulary());
    };
    if (name === SEARCH_TOOL) return backend.found(find());
    return name === CALL_TOOL ? callMeant(args, backend.call) : undefined;
  },
};

/** The servers of some tools, each once. */
function serversOf(tools: readonly Tool[]): readonly string[] {
  return [...new Set(tools.map(serverOf))];
}

/** Calls the tool that the arguments of `call_tool` name. */
function callMeant(
  { name, arguments: given = {} }: Arguments,
  call: (name: string, args: Arguments) => ToolResult | Promise<ToolResult>,
): ToolResult | Promise<ToolResult> {
  // Some models write the arguments as text.
  const args = typeof given === "string" ? parsedJson(given) : given;
  if (typeof name !== "string" || !isObject(args)) {
    return errorResult(
      `Give \`name\`, the name of a tool as ${SEARCH_TOOL} shows it, and \`arguments\`, an object.`,
    );
  }
  try {
    const result = call(name, args);
    return result instanceof Promise ? result.catch(unknownAsResult) : result;
  } catch (error) {
    return unknownAsResult(error);
  }
}

/** For the protocol the tool is `call_tool`, which exists: an unknown name becomes an error result. */
function unknownAsResult(error: unknown): ToolResult {
  if (!(error instanceof TrunklineError) || error.code !== "not-found") throw error;
  return errorResult(`${visibleLine(error.message)}. Find the right name with ${SEARCH_TOOL}.`);
}

/** The toolbox answers their calls itself. */
function definedAs(definition: Tool["definition"]): Tool {
  const call = (): ToolResult => errorResult(`'${definition.name}' cannot be called here.`);
  return { definition, call };
}

function searchDefinition(tools: readonly Tool[]): Tool["definition"] {
  const servers = serversOf(tools).map(visibleLine);
  const more = servers.length > MOST_SERVERS ? `, and ${servers.length - MOST_SERVERS} more` : "";
  const named = servers.slice(0, MOST_SERVERS).join(", ") + more;
  return {
    name: SEARCH_TOOL,
    description:
      `Finds the tools for a job among ${tools.length}. Call it before you say that you cannot do ` +
      "something. Write the query as `server verb object`, such as `github create issue`; leave the " +
      `server out if you do not know it. Servers: ${named}. It shows the names, descriptions and ` +
      `schemas of the tools that fit best; call one of them with ${CALL_TOOL}.`,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "What the tool is to do: server verb object" },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: 20,
          description: "How many tools; 5 if left out",
        },
      },
      required: ["query"],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}

const CALL_DEFINITION: Tool["definition"] = {
  name: CALL_TOOL,
  description: `Calls a tool that ${SEARCH_TOOL} has shown, with arguments that fit its schema.`,
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", description: "The name of the tool" },
      arguments: { type: "object", description: "Its arguments" },
    },
    required: ["name"],
  },
};

const DEFAULT_LIMIT = 5;
const MOST = 20;
/** Characters; the rest of a longer query is ignored. */
const LONGEST_QUERY = 1_000;

/** Answers a call of `search_tools`. */
function searchFor(
  { query, limit }: Arguments,
  tools: readonly Tool[],
  vocabulary: Vocabulary,
): ToolResult {
  if (typeof query !== "string" || query.trim() === "") {
    throw new TrunklineError(
      "usage",
      "Give `query`: what the tool is to do, as `server verb object`.",
    );
  }
  const most =
    typeof limit === "number" && limit >= 1 ? Math.min(Math.trunc(limit), MOST) : DEFAULT_LIMIT;
  const found = rankTools(query.slice(0, LONGEST_QUERY), tools, vocabulary).slice(0, most);
  if (found.length === 0) {
    const servers = serversOf(tools).join(", ");
    return textResult(
      `No tool fits. Try other words, as \`server verb object\`. Servers: ${servers}.`,
    );
  }
  const shown = found.map((tool) => {
    const { name, title, description, inputSchema, annotations } = tool.definition;
    const schema = shortened(inputSchema);
    return { name, server: serverOf(tool), title, description, inputSchema: schema, annotations };
  });
  const all = shown.map((one) => JSON.stringify(one)).join("\n");
  return textResult(
    `The best of ${counted(tools.length, "tool")}, the best first. Call one with ${CALL_TOOL}.\n${all}`,
  );
}

/** Characters of a schema that a search shows whole. Some operations of Kubernetes have 150,000. */
const LONGEST_SCHEMA = 16_000;
const LONGEST_ABOUT = 300;

/** A schema that is too long for a model, without the details of its arguments. */
function shortened(schema: Tool["definition"]["inputSchema"]): Tool["definition"]["inputSchema"] {
  if (JSON.stringify(schema).length <= LONGEST_SCHEMA) return schema;
  const { properties, required } = schema;
  const about = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    const { type, description, enum: values } = value;
    const text = typeof description === "string" ? description.slice(0, LONGEST_ABOUT) : undefined;
    const few = JSON.stringify(values ?? "").length <= LONGEST_ABOUT ? values : undefined;
    return { type, description: text, enum: few };
  };
  const all = isObject(properties) ? Object.entries(properties) : [];
  return {
    type: "object",
    description: "Shortened: what is inside of its arguments is left out.",
    properties: Object.fromEntries(all.map(([name, value]) => [name, about(value)])),
    required,
  };
}

/**
 * The client's names for tools, prompts or servers. A new name belongs to the first entry that gets it:
 * anything else with that name, or one that looks like it, is not offered, so that a call can mean only one
 * thing.
 */
export class ClientNames {
  readonly #shown: ReadonlyMap<string, string>;
  readonly #real = new Map<string, string>();
  /** By their skeleton. */
  readonly #looks = new Map<string, string>();

  /** `rename` has the new names by the real ones. */
  constructor(rename: Readonly<Record<string, string>> = {}) {
    this.#shown = new Map(Object.entries(rename));
    for (const [real, shown] of this.#shown) {
      const looks = skeleton(shown);
      if (!this.#real.has(shown) && !this.#looks.has(looks)) {
        this.#real.set(shown, real);
        this.#looks.set(looks, real);
      }
    }
  }

  /** The name for the client. */
  shown(real: string): string {
    return this.#shown.get(real) ?? real;
  }

  /** The real name for a client's name; undefined if that name no longer means anything. */
  real(shown: string): string | undefined {
    return this.#real.get(shown) ?? (this.#shown.has(shown) ? undefined : shown);
  }

  /** Whether it is offered under any name. */
  isShown(real: string): boolean {
    const shown = this.shown(real);
    if (this.real(shown) !== real) return false;
    return this.#looks.size === 0 || (this.#looks.get(skeleton(shown)) ?? real) === real;
  }
}
