import { MCP, STANDARD } from "../rpc/codes.ts";
import {
  type Completion,
  type CompletionArgument,
  type ResourceDefinition,
  type ResourceProvider,
  type ResourceResult,
  type ResourceTemplateDefinition,
  type ToolContext,
  ToolFault,
} from "../tool/tool.ts";
import { tracedHop } from "../tool/traced-hop.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Upstream } from "./upstream.ts";
import { completion } from "./upstream-prompt.ts";

/**
 * The resources of all upstreams. A URI belongs to the first upstream that lists it, else to the
 * first whose template fits, else to the first that lists others of its scheme.
 */
export class UpstreamResources implements ResourceProvider {
  readonly #upstreams: () => readonly Upstream[];
  readonly #known: () => Promise<void>;
  /** What is subscribed to, and at which upstream; at none while no upstream has it. */
  readonly #watched = new Map<string, Upstream | undefined>();

  /** `known` waits for upstreams that were never seen before. */
  constructor(upstreams: () => readonly Upstream[], known: () => Promise<void>) {
    this.#upstreams = upstreams;
    this.#known = known;
  }

  async list(): Promise<readonly ResourceDefinition[]> {
    await this.#known();
    return firstOfEach(this.#upstreams(), "resources", "uri") as unknown as ResourceDefinition[];
  }

  async templates(): Promise<readonly ResourceTemplateDefinition[]> {
    await this.#known();
    const all = firstOfEach(this.#upstreams(), "templates", "uriTemplate");
    return all as unknown as ResourceTemplateDefinition[];
  }

  async read(uri: string, context: ToolContext): Promise<ResourceResult | undefined> {
    await this.#known();
    const owner = this.#ownerOf(uri);
    if (owner === undefined) return undefined;
    try {
      const instance = owner.for(context);
      const attributes = {
        "mcp.method.name": "resources/read",
        "mcp.resource.uri": uri,
        "trunkline.server": owner.name,
      };
      const result = await tracedHop(context, attributes, () => {
        return instance.use((client) => client.readResource(uri, context), true);
      });
      const { contents } = result;
      return { ...result, contents: Array.isArray(contents) ? contents : [] };
    } catch (error) {
      // Not found: the door answers with the error of the client's revision.
      if (error instanceof ToolFault && isNotFound(error, uri)) return undefined;
      throw error;
    }
  }

  async complete(uri: string, argument: CompletionArgument): Promise<Completion | undefined> {
    const owner = this.#upstreams().find((each) => indexOf(each)?.templates.has(uri));
    return owner && completion(owner, { type: "ref/resource", uri }, argument);
  }

  async serverOf(uri: string): Promise<string | undefined> {
    await this.#known();
    const ofTemplate = this.#upstreams().find((each) => indexOf(each)?.templates.has(uri));
    return (ofTemplate ?? this.#ownerOf(uri))?.name;
  }

  watch(uri: string): void {
    const owner = this.#ownerOf(uri);
    this.#watched.set(uri, owner);
    owner?.watch(uri);
  }

  unwatch(uri: string): void {
    this.#watched.get(uri)?.unwatch(uri);
    this.#watched.delete(uri);
  }

  /** After the upstreams or their lists changed: subscribes where the resource is now. */
  rewatch(): void {
    const upstreams = new Set<Upstream | undefined>(this.#upstreams());
    for (const [uri, owner] of this.#watched) if (!upstreams.has(owner)) this.watch(uri);
  }

  #ownerOf(uri: string): Upstream | undefined {
    const upstreams = this.#upstreams();
    const scheme = schemeOf(uri);
    return (
      upstreams.find((each) => indexOf(each)?.resources.has(uri)) ??
      upstreams.find((each) => hasTemplateFor(each, uri)) ??
      upstreams.find((each) => indexOf(each)?.resourceSchemes.has(scheme)) ??
      upstreams.find((each) => indexOf(each)?.templateSchemes.has(scheme))
    );
  }
}

function firstOfEach(
  upstreams: readonly Upstream[],
  kind: "resources" | "templates",
  member: string,
): Readonly<Record<string, unknown>>[] {
  const all = new Map<string, Readonly<Record<string, unknown>>>();
  for (const { catalogue } of upstreams) {
    for (const entry of catalogue?.[kind] ?? []) {
      const uri = entry[member];
      if (typeof uri === "string" && !all.has(uri)) all.set(uri, entry);
    }
  }
  return [...all.values()];
}

/** The budget for matching the templates of one upstream, so that others do not wait for them. */
const EFFORT = 1_000_000;

function hasTemplateFor({ catalogue }: Upstream, uri: string): boolean {
  const effort: Effort = { left: EFFORT };
  const fits = (template: unknown): boolean => new UriTemplate(String(template)).fits(uri, effort);
  return catalogue?.templates.some(({ uriTemplate }) => fits(uriTemplate)) ?? false;
}

/** An index of a catalogue: one list may need a lookup for each of thousands of entries. */
interface CatalogueIndex {
  readonly resources: ReadonlySet<unknown>;
  readonly templates: ReadonlySet<unknown>;
  readonly resourceSchemes: ReadonlySet<string>;
  readonly templateSchemes: ReadonlySet<string>;
}

const indexes = new WeakMap<Catalogue, CatalogueIndex>();

function indexOf({ catalogue }: Upstream): CatalogueIndex | undefined {
  if (catalogue === undefined) return undefined;
  let index = indexes.get(catalogue);
  if (index === undefined) {
    const resources = new Set(catalogue.resources.map(({ uri }) => uri));
    const templates = new Set(catalogue.templates.map(({ uriTemplate }) => uriTemplate));
    const resourceSchemes = schemesOf(resources);
    index = { resources, templates, resourceSchemes, templateSchemes: schemesOf(templates) };
    indexes.set(catalogue, index);
  }
  return index;
}

function schemesOf(uris: Iterable<unknown>): Set<string> {
  const texts = [...uris].filter((uri) => typeof uri === "string");
  return new Set(texts.map(schemeOf).filter((scheme) => scheme !== ""));
}

function schemeOf(uri: string): string {
  return /^([A-Za-z][\w+.-]*):/.exec(uri)?.[1]?.toLowerCase() ?? "";
}

function isNotFound({ code, data }: ToolFault, uri: string): boolean {
  if (code === MCP.resourceNotFound.code) return true;
  const named = (data as { uri?: unknown } | undefined | null)?.uri;
  return code === STANDARD.invalidParams.code && named === uri;
}

/** How much may be spent on finding out which of many templates a URI fits. */
export interface Effort {
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
  fits(uri: string, effort: Effort): boolean {
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
