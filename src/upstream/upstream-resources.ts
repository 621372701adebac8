import { MCP, STANDARD } from "../rpc/codes.ts";
import {
  type Completion,
  type CompletionArgument,
  type ResourceDefinition,
  type ResourceProvider,
  type ResourceResult,
  type ResourceTemplateDefinition,
  type Question,
  type ServerExtensions,
  type Skill,
  SKILLS_EXTENSION,
  type ToolContext,
  ToolFault,
  type ToolSource,
} from "../tool/tool.ts";
import { tracedHop } from "../tool/traced-hop.ts";
import { isObject } from "../base/check.ts";
import type { McpClient } from "../protocol/mcp/connect/connect.ts";
import type { JsonObject } from "../protocol/mcp/json-object.ts";
import { type ServerText, SKILL_PREFIX } from "../tool/offer/server-instructions.ts";
import { type ResourceAddresses, withoutServer } from "./resource-addresses.ts";
import type { Upstream } from "./upstream.ts";
import { completion } from "./upstream-prompt.ts";

/** A resource at its upstream. */
interface FoundResource {
  readonly upstream: Upstream;
  /** Its URI there. */
  readonly uri: string;
}

/**
 * The resources of all upstreams. A URI belongs to the upstream that names it, else to the first whose
 * template fits, else to the only one that has resources. It is never guessed by its scheme.
 */
export class UpstreamResources implements ResourceProvider {
  readonly #upstreams: () => readonly Upstream[];
  readonly #addresses: ResourceAddresses;
  readonly #known: () => Promise<void>;
  readonly #isApproved: (text: ServerText) => boolean;
  /** What is subscribed to, and where; nowhere while no upstream has it. */
  readonly #watched = new Map<string, FoundResource | undefined>();

  readonly person?: string;

  /** `known` waits for upstreams that were never seen before. */
  constructor(
    upstreams: () => readonly Upstream[],
    addresses: ResourceAddresses,
    known: () => Promise<void>,
    isApproved: (text: ServerText) => boolean,
    person?: string,
  ) {
    if (person !== undefined) this.person = person;
    this.#isApproved = isApproved;
    this.#upstreams = upstreams;
    this.#addresses = addresses;
    this.#known = known;
  }

  async list(): Promise<readonly ResourceDefinition[]> {
    return (await this.#list("resources", "uri")) as unknown as ResourceDefinition[];
  }

  async templates(): Promise<readonly ResourceTemplateDefinition[]> {
    return (await this.#list(
      "templates",
      "uriTemplate",
    )) as unknown as ResourceTemplateDefinition[];
  }

  async read(uri: string, context: ToolContext): Promise<ResourceResult | undefined> {
    await this.#known();
    const found = this.#find(uri);
    if (found === undefined) return undefined;
    try {
      const { upstream, uri: original } = found;
      const attributes = {
        "mcp.method.name": "resources/read",
        "mcp.resource.uri": uri,
        "trunkline.server": upstream.name,
      };
      const result = await tracedHop(context, attributes, () => {
        return upstream.useFor(context, (client) => client.readResource(original, context));
      });
      const contents = Array.isArray(result.contents) ? result.contents : [];
      // By the address that was asked for, also where a template and no list has it.
      const asked = new Map([[original, uri]]);
      return { ...result, contents: this.#addresses.entries(upstream.name, contents, asked) };
    } catch (error) {
      // Not found: the door answers with the error of the client's revision.
      if (error instanceof ToolFault && isNotFound(error, found.uri)) return undefined;
      throw error;
    }
  }

  async complete(uri: string, argument: CompletionArgument): Promise<Completion | undefined> {
    const found = this.#named(uri);
    return found && completion(found.upstream, { type: "ref/resource", uri: found.uri }, argument);
  }

  async sourceOf(uri: string): Promise<ToolSource | undefined> {
    await this.#known();
    const found = this.#find(uri);
    return found && { server: found.upstream.name, name: found.uri };
  }

  extensions(): ServerExtensions[] {
    return this.#upstreams().map(({ name, catalogue }) => {
      return { server: name, extensions: catalogue?.extensions ?? {} };
    });
  }

  async skills(context: ToolContext): Promise<readonly Skill[]> {
    await this.#known();
    const lists = await Promise.allSettled(
      this.#upstreams()
        .filter(hasSkills)
        .map(async (upstream) => {
          const ask = (client: McpClient): Promise<JsonObject[]> => client.listSkills(context);
          const all = await upstream.useFor(context, ask);
          return all.flatMap((skill) => this.#skill(upstream.name, skill) ?? []);
        }),
    );
    const failed = lists.find(({ status }) => status === "rejected");
    // One server that fails does not take the skills of the others with it.
    if (failed?.status === "rejected" && lists.length === 1) throw failed.reason;
    return lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
  }

  async askAbout(
    uri: string,
    { method, params }: Question,
    context: ToolContext,
  ): Promise<JsonObject | undefined> {
    await this.#known();
    const found = this.#find(uri);
    if (found === undefined || !hasSkills(found.upstream)) return undefined;
    const { name } = found.upstream;
    const ask = (client: McpClient): Promise<JsonObject> =>
      client.ask(method, { ...params, uri: found.uri }, context);
    const result = await found.upstream.useFor(context, ask);
    if (Array.isArray(result.resources)) {
      return { ...result, resources: this.#addresses.entries(name, result.resources) };
    }
    if (!isObject(result.skill)) return result;
    const skill = this.#skill(name, result.skill);
    if (skill !== undefined) return { ...result, skill };
    const why = `Skill '${found.uri}' of '${name}' is held until a person has looked at it`;
    const how = `\`trunkline tool diff '${name}/${SKILL_PREFIX}${found.uri}'\``;
    throw new ToolFault(STANDARD.invalidParams.code, `${why}: ${how}.`);
  }

  watch(uri: string): void {
    const found = this.#find(uri);
    this.#watched.set(uri, found);
    found?.upstream.watch(found.uri);
  }

  unwatch(uri: string): void {
    const found = this.#watched.get(uri);
    this.#watched.delete(uri);
    found?.upstream.unwatch(found.uri);
  }

  /** After the upstreams or their lists changed: subscribes where the resource is now. */
  rewatch(): void {
    const upstreams = new Set<Upstream | undefined>(this.#upstreams());
    for (const [uri, found] of this.#watched) if (!upstreams.has(found?.upstream)) this.watch(uri);
  }

  /** The addresses under which a resource of a server is subscribed to. */
  watchedAs(server: string, uri: string): string[] {
    return [...this.#watched].flatMap(([shown, found]) => {
      return found?.upstream.name === server && found.uri === uri ? [shown] : [];
    });
  }

  /** The server whose template a URI fits. */
  serverByTemplate(uri: string): string | undefined {
    return this.#byTemplate(uri, EFFORT_EACH)?.upstream.name;
  }

  async #list(
    kind: "resources" | "templates",
    member: "uri" | "uriTemplate",
  ): Promise<Readonly<Record<string, unknown>>[]> {
    await this.#known();
    const all = new Map<string, Readonly<Record<string, unknown>>>();
    for (const { name, catalogue } of this.#upstreams()) {
      for (const entry of catalogue?.[kind] ?? []) {
        const shown = this.#addresses.entry(name, entry, member);
        const uri = shown[member];
        if (typeof uri === "string" && !all.has(uri)) all.set(uri, shown);
      }
    }
    return [...all.values()];
  }

  /** A skill under its address; undefined while it is held. */
  #skill(server: string, skill: JsonObject): Skill | undefined {
    const { uri, frontmatter, resources } = skill;
    if (typeof uri !== "string") return undefined;
    // A model follows it, so it is approved like the description of a tool, with its files' digests.
    const text = JSON.stringify({ frontmatter, resources });
    if (!this.#isApproved({ server, text, name: `${SKILL_PREFIX}${uri}` })) return undefined;
    return {
      ...skill,
      uri: this.#addresses.shown(server, uri),
      resources: Array.isArray(resources) ? this.#addresses.entries(server, resources) : resources,
    };
  }

  #find(uri: string): FoundResource | undefined {
    return this.#named(uri) ?? this.#byTemplate(uri) ?? this.#only(uri);
  }

  #named(shown: string): FoundResource | undefined {
    const { server, uri } = this.#addresses.originOf(shown) ?? {};
    const upstream = this.#upstreams().find(({ name }) => name === server);
    return upstream === undefined || uri === undefined ? undefined : { upstream, uri };
  }

  #byTemplate(uri: string, left = EFFORT): FoundResource | undefined {
    for (const upstream of this.#upstreams()) {
      const effort: MatchBudget = { left };
      for (const { uriTemplate } of upstream.catalogue?.templates ?? []) {
        const template = String(uriTemplate);
        effort.left -= template.length;
        if (effort.left < 0) break;
        const shown = this.#addresses.shown(upstream.name, template);
        if (!uri.startsWith(shown.slice(0, shown.indexOf("{")))) continue;
        if (!new UriTemplate(shown).fits(uri, effort)) continue;
        return { upstream, uri: withoutServer(uri, shown.length - template.length) };
      }
    }
    return undefined;
  }

  /** Where no other server can have it, a server is asked for what it has never named. */
  #only(uri: string): FoundResource | undefined {
    // Those of all may have it.
    if (this.person !== undefined) return undefined;
    const able = this.#upstreams().filter(({ catalogue }) => catalogue?.hasResources !== false);
    const [upstream, another] = able;
    return upstream === undefined || another !== undefined ? undefined : { upstream, uri };
  }
}

function hasSkills({ catalogue }: Upstream): boolean {
  return catalogue?.extensions?.[SKILLS_EXTENSION] !== undefined;
}

/** The budget for matching the templates of one upstream, so that others do not wait for them. */
const EFFORT = 1_000_000;
/** The same for an address that an answer names: there may be thousands in one. */
const EFFORT_EACH = 2_000;

function isNotFound({ code, data, message }: ToolFault, uri: string): boolean {
  if (code === MCP.resourceNotFound.code) return true;
  const named = (data as { uri?: unknown } | undefined | null)?.uri;
  // Servers of the official SDK before 2026-07-28 name it in their words only.
  return code === STANDARD.invalidParams.code && (named === uri || message.includes(uri));
}

/** How much may be spent on finding out which of many templates a URI fits. */
export interface MatchBudget {
  left: number;
}

/** One state of the matcher: the characters of a URI that it consumes. */
interface MatchState {
  readonly fits: (character: string) => boolean;
  /** Further characters may stay in this state. */
  readonly repeats: boolean;
  /** This many states, from this one on, may be skipped. */
  readonly skip: number;
}

const LONGEST = 2_000;

const ANY = (): boolean => true;
const NO_SLASH = (character: string): boolean => character !== "/";
const IN_PATH = (character: string): boolean => character !== "?" && character !== "#";
const IN_SEGMENT = (character: string): boolean => NO_SLASH(character) && IN_PATH(character);

/**
 * Tells whether URIs could have been made from a template (RFC 6570, section 1.2). Templates come from servers
 * that may mean harm, so they are not made into regular expressions, some of which never end: all
 * ways to fit are followed together, one character after the other.
 */
export class UriTemplate {
  readonly #states: MatchState[] = [];
  readonly #isTooLong: boolean;

  constructor(template: string) {
    this.#isTooLong = template.length > LONGEST;
    if (this.#isTooLong) return;
    for (const part of template.split(/(\{[^{}]*\})/)) {
      if (part.startsWith("{") && part.endsWith("}")) this.#expression(part.slice(1, -1));
      else for (const character of part) this.#literal(character);
    }
  }

  /** False, too, when the effort does not suffice to tell. */
  fits(uri: string, effort: MatchBudget): boolean {
    if (this.#isTooLong) return false;
    let reached = this.#from(0, new Set());
    for (const character of uri) {
      effort.left -= reached.size;
      if (effort.left < 0 || reached.size === 0) return false;
      const next = new Set<number>();
      for (const index of reached) {
        const place = this.#states[index];
        if (place?.fits(character) !== true) continue;
        if (place.repeats) next.add(index);
        this.#from(index + 1, next);
      }
      reached = next;
    }
    return reached.has(this.#states.length);
  }

  #expression(text: string): void {
    switch (text.charAt(0)) {
      case "+":
      case "#":
        this.#several(ANY);
        break;
      case "?":
      case "&":
      case ";":
        this.#several(NO_SLASH, 1);
        break;
      case "/": {
        const isOpen = text.endsWith("*");
        const count = isOpen ? 1 : text.split(",").length;
        for (let each = 0; each < count; each++) {
          this.#literal("/", 2);
          this.#several(isOpen ? IN_PATH : IN_SEGMENT);
        }
        break;
      }
      case ".":
        this.#literal(".", 2);
        this.#several(IN_SEGMENT);
        break;
      default:
        this.#several(IN_SEGMENT);
    }
  }

  #literal(character: string, skip = 0): void {
    this.#states.push({ fits: (each) => each === character, repeats: false, skip });
  }

  #several(fits: MatchState["fits"], skip = 0): void {
    this.#states.push({ fits, repeats: true, skip });
  }

  /** Adds a state, and those that are reached by skipping states. */
  #from(index: number, reached: Set<number>): Set<number> {
    for (let at = index; !reached.has(at);) {
      reached.add(at);
      at += this.#states[at]?.skip ?? 0;
    }
    return reached;
  }
}
