import { isInside, realPath } from "../../base/file/path.ts";
import { type Rate, RateLimiter } from "../../base/limit/rate-limiter.ts";
import type { Principal } from "../../base/principal.ts";
import { glob } from "../../base/text/glob.ts";
import { Policy, type PolicyRule } from "../policy.ts";
import type { Prompt } from "../prompt.ts";
import type { ResourceProvider } from "../resource.ts";
import type { Caller, Tool } from "../tool.ts";
import { OWN_SERVER } from "./own-server.ts";
import { Renaming } from "./renaming.ts";
import { ToolSearch } from "./search-tools.ts";

/** Names that are offered, and names that are not; a name that both fit is not. */
export interface Patterns {
  /** All, where it is left out. `*` stands for any text. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

/** The same for what can have another name for the client. */
export interface NamedPatterns extends Patterns {
  /** New names by the names that `trunkline tools list` shows. */
  readonly rename?: Readonly<Record<string, string>>;
}

export interface ProfileRate {
  /** The tools whose calls are counted together; `*` stands for any text. */
  readonly tool?: string;
  readonly calls: number;
  readonly seconds: number;
}

/** What a client sees and may do, as the configuration writes it. */
export interface ProfileSettings {
  /** The clients that get it without being told to. Every condition that is given must hold. */
  readonly for?: {
    readonly clients?: readonly string[];
    readonly tokens?: readonly string[];
    readonly doors?: readonly string[];
    /** Absolute. */
    readonly projects?: readonly string[];
  };
  readonly servers?: Patterns;
  readonly tools?: NamedPatterns;
  readonly prompts?: NamedPatterns;
  /** By URI. */
  readonly resources?: Patterns;
  readonly policy?: {
    readonly default?: PolicyRule["decision"];
    readonly rules?: readonly PolicyRule[];
  };
  readonly rates?: readonly ProfileRate[];
  readonly search?: boolean;
}

/** A client, as far as its profile is chosen by it. */
export interface ProfileSubject {
  readonly door: string;
  /** What the program calls itself. */
  readonly client: string;
  /** The folder that it works in, where its door knows it without asking. */
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
  /** Why it offers nothing, where it is not in the configuration. */
  readonly problem: string | undefined;
  /** Decides beside the policy of all callers: the stricter of the two counts. */
  readonly policy: Policy | undefined;
  /** Set where it offers a tool that searches and one that calls, instead of its tools. */
  readonly search: ToolSearch | undefined;
  readonly toolNames: Renaming;
  readonly promptNames: Renaming;
  readonly #settings: ProfileSettings;
  readonly #servers: Filter;
  readonly #tools: Filter;
  readonly #prompts: Filter;
  readonly #resources: Filter;
  readonly #rates: readonly (readonly [(tool: string) => boolean, RateLimiter])[];
  readonly #shown = new WeakMap<Tool, Tool>();

  constructor(name: string, settings: ProfileSettings, problem?: string) {
    const { policy, servers, tools, prompts, resources, rates = [] } = settings;
    this.name = name;
    this.problem = problem;
    this.#settings = settings;
    this.search = settings.search === true ? new ToolSearch() : undefined;
    this.#servers = new Filter(servers);
    this.#tools = new Filter(tools);
    this.#prompts = new Filter(prompts);
    this.#resources = new Filter(resources);
    this.toolNames = new Renaming(tools?.rename);
    this.promptNames = new Renaming(prompts?.rename);
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
    if (doors !== undefined && !doors.includes(door)) return false;
    if (projects === undefined) return true;
    if (folder === undefined) return false;
    const real = realPath(folder);
    return projects.some((project) => isInside(real, realPath(project)));
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

  /** `server` is that of a resource that is not ours. */
  hasResource(uri: string, server?: string): boolean {
    if (!this.hasServer(server)) return false;
    if (this.#resources.isOpen) return true;
    if (LEADS_UP.test(uri) || !this.#resources.has(uri)) return false;
    return !this.#resources.denies([plainUri(uri)]);
  }

  async hasResourceOf(provider: ResourceProvider, uri: string): Promise<boolean> {
    return this.hasResource(uri, await provider.serverOf?.(uri));
  }

  /** Those of a provider's resources, or templates, that are shown. */
  async resourcesOf<T>(
    provider: ResourceProvider,
    all: readonly T[],
    uriOf: (one: T) => string,
  ): Promise<readonly T[]> {
    const shown: T[] = [];
    for (const one of all) if (await this.hasResourceOf(provider, uriOf(one))) shown.push(one);
    return shown;
  }

  /** A tool under the name that it has for the client. */
  shown(tool: Tool): Tool {
    const name = this.toolNames.shown(tool.definition.name);
    if (name === tool.definition.name) return tool;
    let renamed = this.#shown.get(tool);
    if (renamed === undefined) {
      renamed = { ...tool, definition: { ...tool.definition, name } };
      this.#shown.set(tool, renamed);
    }
    return renamed;
  }

  get hasRates(): boolean {
    return this.#rates.length > 0;
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
    try {
      return decodeURIComponent(escaped);
    } catch {
      return escaped;
    }
  });
}

/** Whether a name fits one of the patterns; where there are none, any does. */
function isAmong(patterns: readonly string[] | undefined, name: string | undefined): boolean {
  if (patterns === undefined) return true;
  return name !== undefined && patterns.some((pattern) => glob(pattern)(name));
}

/** A name that something has at its server. */
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
   * The name here changes with the other servers: a second `read` becomes `notes_read`. So a pattern
   * may also say `notes/read`, and one that denies is held against the name at the server, too.
   */
  has(name: string, source?: Source): boolean {
    if (this.isOpen) return true;
    const names = source === undefined ? [name] : [name, `${source.server}/${source.name}`];
    const all = source === undefined ? names : [...names, source.name];
    if (this.denies(all)) return false;
    return this.#allow?.some((fits) => names.some(fits)) ?? true;
  }

  denies(names: readonly string[]): boolean {
    return this.#deny.some((fits) => names.some(fits));
  }
}
