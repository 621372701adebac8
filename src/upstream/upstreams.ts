import { TrunklineError } from "../base/errors.ts";
import { personOf, type Principal } from "../base/principal.ts";
import { TaskQueue } from "../base/limit/task-queue.ts";
import type { Notice, Notices } from "../tool/notices.ts";
import type { Clients } from "../tool/offer/clients.ts";
import {
  type Prompt,
  type Tool,
  type ToolDefinition,
  TOLD,
  ToolFault,
  type ToolResult,
} from "../tool/tool.ts";
import type { Registry } from "../tool/offer/registry.ts";
import type { Resources } from "../tool/offer/resources.ts";
import type { ServerInstructions } from "../tool/offer/server-instructions.ts";
import type { MissingSource, ToolSources } from "../tool/offer/tool-sources.ts";
import type { Toolbox } from "../tool/toolbox.ts";
import { type CatalogueKind, isKnown } from "./catalogue.ts";
import { Names } from "../tool/offer/names.ts";
import { type Publication, PublishedEntries } from "../tool/offer/published-entries.ts";
import {
  isAddress,
  isIncluded,
  isOfProject,
  type UpstreamSettings,
  timeoutOf,
} from "./settings.ts";
import { Upstream, type UpstreamOptions, type UpstreamStatus } from "./upstream.ts";
import { upstreamPrompt } from "./upstream-prompt.ts";
import { ResourceAddresses } from "./resource-addresses.ts";
import { UpstreamResources } from "./upstream-resources.ts";
import { isObject } from "../base/check.ts";
import type { McpClient, ToolCallOptions } from "../protocol/mcp/connect/connect.ts";
import { plainToolResult } from "../protocol/mcp/connect/requests.ts";
import { STANDARD, TRUNKLINE } from "../rpc/codes.ts";
import { CALL, tracedHop } from "../tool/traced-hop.ts";

/** The part of an offer that upstreams publish to. */
export interface UpstreamOffer {
  readonly tools: Pick<Toolbox, "add" | "get"> & Partial<Pick<Toolbox, "observer">>;
  readonly prompts: Pick<Registry<Prompt>, "add" | "get">;
  readonly resources: Pick<Resources, "add" | "changed" | "updated">;
  readonly notices: Pick<Notices, "post">;
  readonly clients: Pick<Clients, "onGone">;
  readonly instructions: Pick<ServerInstructions, "replace" | "isApproved">;
}

export interface UpstreamsOptions extends Pick<
  UpstreamOptions,
  "folder" | "log" | "open" | "limits" | "channelLimits" | "gate"
> {
  readonly offer: UpstreamOffer;
  /** Who alone uses them, as themselves: all that they offer is this person's. */
  readonly principal?: Principal;
}

export type UpstreamTable = Readonly<Record<string, UpstreamSettings>>;

/** Other people's MCP servers, each on its own, offered together. */
export class Upstreams implements Required<Omit<ToolSources, "opened">>, AsyncDisposable {
  readonly #options: UpstreamsOptions;
  readonly #person: string | undefined;
  readonly #addresses: ResourceAddresses;
  readonly #resources: UpstreamResources;
  readonly #tools: PublishedEntries<Tool>;
  readonly #prompts: PublishedEntries<Prompt>;
  readonly #removeResources: () => void;
  readonly #unlisten: () => void;
  /** The state in which people were last told that an upstream is missing from lists. */
  readonly #told = new WeakMap<Upstream, string>();
  #all: readonly Upstream[] = [];
  readonly #changes = new TaskQueue();
  #isOver = false;

  constructor(options: UpstreamsOptions) {
    const { offer, principal } = options;
    const person = principal && personOf(principal);
    this.#options = options;
    this.#person = person;
    this.#tools = new PublishedEntries((_, tool) => offer.tools.add(tool));
    this.#prompts = new PublishedEntries((name, prompt) => offer.prompts.add(name, prompt, person));
    this.#addresses = new ResourceAddresses(
      (uri) => this.#resources.serverByTemplate(uri),
      ({ server, uri }, shown) => {
        options.log.info("upstream.address-changed", { upstream: server, uri, shown });
      },
    );
    this.#resources = new UpstreamResources(
      () => this.#all,
      this.#addresses,
      async () => this.known(),
      (text) => offer.instructions.isApproved(text),
      person,
    );
    this.#removeResources = offer.resources.add(this.#resources);
    this.#unlisten = offer.clients.onGone((client) => {
      for (const each of this.#all) each.gone(client);
    });
  }

  /**
   * Brings the upstreams in line with the configuration: those that are the same go on as they are,
   * others are stopped. None is started before it is needed.
   */
  configure(table: UpstreamTable): Promise<void> {
    return this.#changes.run(() => this.#configure(table));
  }

  /**
   * Starts the upstreams of which not every list is known yet, and waits for them for a bounded time, before
   * a list is answered. Undefined when there is nothing to wait for.
   */
  known(): Promise<void> | undefined {
    const unknown = this.#all.filter(({ catalogue }) => !isKnown(catalogue));
    if (unknown.length === 0) return undefined;
    return Promise.all(unknown.map((each) => each.known())).then(() => this.#tellMissing(unknown));
  }

  arrival(): Promise<void> | undefined {
    const coming = this.#all.filter((each) => each.isComing);
    return coming.length === 0 ? undefined : Promise.race(coming.map((each) => each.arrival()));
  }

  missing(): readonly MissingSource[] {
    return this.#all.flatMap(({ name, missing }) => {
      return missing === undefined ? [] : [{ name, why: missing }];
    });
  }

  /** Starts all, and waits until each is up or has failed. */
  async started(): Promise<void> {
    await Promise.all(this.#all.map((each) => each.arrival()));
  }

  /** Ends an upstream and starts it anew. Throws "not-found" where there is none of that name. */
  restart(name: string): Promise<void> {
    return this.#changes.run(async () => {
      const known = this.#all.find((each) => each.name === name);
      if (known === undefined) {
        throw new TrunklineError("not-found", `There is no MCP server '${name}'.`);
      }
      const fresh = this.#make(name, known.settings);
      await fresh.recall();
      this.#all = this.#all.map((each) => (each === known ? fresh : each));
      this.refresh();
      this.#resources.rewatch();
      await known.stop();
      await fresh.arrival();
    });
  }

  /** The upstream of that name. */
  get(name: string): Upstream | undefined {
    return this.#all.find((each) => each.name === name);
  }

  /** Those over HTTP that are down try again now: somebody may have logged in. */
  wake(): void {
    for (const each of this.#all) if (isAddress(each.settings)) each.wake();
  }

  status(): UpstreamStatus[] {
    return this.#all.map((each) => each.status());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#unlisten();
    await this.#changes.idle();
    await Promise.all(this.#all.map((each) => each.stop()));
    this.#all = [];
    this.refresh();
    this.#removeResources();
  }

  async #configure(table: UpstreamTable): Promise<void> {
    if (this.#isOver) return;
    const before = new Map(this.#all.map((each) => [each.name, each]));
    const all = Object.entries(table).map(([name, settings]) => {
      const known = before.get(name);
      const isSame = JSON.stringify(known?.settings) === JSON.stringify(settings);
      return known !== undefined && isSame ? known : this.#make(name, settings);
    });
    const kept = new Set(all);
    await Promise.all(all.filter((each) => each !== before.get(each.name)).map((e) => e.recall()));
    this.#all = all;
    this.refresh();
    this.#resources.rewatch();
    if (before.size > 0) this.#options.offer.resources.changed(this.#person);
    await Promise.all([...before.values()].filter((each) => !kept.has(each)).map((e) => e.stop()));
  }

  #make(name: string, settings: UpstreamSettings): Upstream {
    const { offer, principal, ...options } = this.#options;
    return new Upstream(name, settings, {
      ...options,
      person: this.#person,
      observer: offer.tools.observer,
      changed: (kind) => this.#changed(kind),
      updated: (uri) => {
        for (const shown of this.#resources.watchedAs(name, uri)) offer.resources.updated(shown);
      },
      isOffered: (tool) => offer.tools.get(tool, undefined, principal) !== undefined,
      logged: (notice) => this.#post(notice),
    });
  }

  /** Tells people, once for each state, that a list is answered without these upstreams. */
  #tellMissing(unknown: readonly Upstream[]): void {
    for (const upstream of unknown) {
      const { missing, name } = upstream;
      const { state } = upstream.status();
      if (missing === undefined || this.#told.get(upstream) === state) continue;
      this.#told.set(upstream, state);
      this.#options.log.warn("upstream.missing", { upstream: name, state, why: missing });
      const message = `${missing}. Its tools are not in the list yet. Clients are notified when they are.`;
      const data = { server: name, state, message };
      this.#post({
        level: "warn",
        logger: "trunkline",
        server: name,
        data,
        message,
        isNews: true,
      });
    }
  }

  #post(notice: Notice): void {
    const person = this.#person;
    this.#options.offer.notices.post(person === undefined ? notice : { ...notice, person });
  }

  #changed(kind: CatalogueKind): void {
    // Also after resources: a tool may name a page under another server's address.
    this.refresh();
    if (kind !== "resources") return;
    this.#resources.rewatch();
    this.#options.offer.resources.changed(this.#person);
  }

  /** Puts what all upstreams offer into the offer, under names that do not clash. Others may have taken some. */
  refresh(): void {
    const { offer, principal } = this.#options;
    const person = this.#person;
    this.#addresses.update(this.#all);
    // What is for all comes before what is a person's.
    const isTool = (name: string): boolean => {
      const known = offer.tools.get(name, undefined, principal);
      return known !== undefined && !(known.person === person && this.#tools.has(name));
    };
    const isPrompt = (name: string): boolean =>
      (person !== undefined && offer.prompts.get(name) !== undefined) ||
      (offer.prompts.get(name, person) !== undefined && !this.#prompts.has(name));
    this.#tools.replace(this.#publications("tools", new Names(isTool), upstreamTool));
    this.#prompts.replace(this.#publications("prompts", new Names(isPrompt), upstreamPrompt));
    const said = this.#all.flatMap(({ name: server, catalogue }) => {
      const text = catalogue?.instructions;
      return typeof text === "string" ? [{ server, text }] : [];
    });
    offer.instructions.replace(said, person);
  }

  #publications<T>(
    kind: "tools" | "prompts",
    names: Names,
    make: (upstream: Upstream, entry: Entry, name: string, addresses: ResourceAddresses) => T,
  ): Publication<T>[] {
    const publications: Publication<T>[] = [];
    for (const upstream of this.#all) {
      const seen = new Set<string>();
      const { [kind]: entries = [], hasTasks = false } = upstream.catalogue ?? {};
      for (const entry of entries) {
        const original = entry.name;
        // Of two entries with the same name in one list, the first counts.
        if (typeof original !== "string" || original === "" || seen.has(original)) continue;
        seen.add(original);
        // Those of a document are chosen by method and path, too, when they are made.
        const isTool = kind === "tools" && !("openapi" in upstream.settings);
        if (isTool && !isIncluded([original], upstream.settings)) continue;
        const name = names.give(upstream.name, original);
        const shown = this.#addresses.withPage(upstream.name, entry);
        const key = `${upstream.id}\n${hasTasks}\n${JSON.stringify(shown)}`;
        publications.push({ name, key, make: () => make(upstream, entry, name, this.#addresses) });
      }
    }
    return publications;
  }
}

type Entry = Readonly<Record<string, unknown>>;

/** A tool of an upstream, under the name that it has here. */
export function upstreamTool(
  upstream: Upstream,
  entry: Entry,
  name: string,
  addresses: ResourceAddresses,
): Tool {
  const original = String(entry.name);
  const described = { ...entry, name, inputSchema: schemaOf(entry) } as ToolDefinition;
  const definition = addresses.withPage(upstream.name, described);
  const task = taskSupportOf(entry, upstream.catalogue?.hasTasks === true);
  const harmless = isHarmless(entry);
  const attributes = {
    ...CALL,
    "gen_ai.tool.name": original,
    "trunkline.server": upstream.name,
    "network.transport": "url" in upstream.settings ? "tcp" : "pipe",
  };
  const how: ToolCallOptions = {
    isTask: task === "required",
    shape: (answer) => {
      const result = plainToolResult(answer);
      // Most results name no resource.
      let isNamed = result._meta !== undefined;
      for (const { type } of result.content) isNamed ||= RESOURCES.has(type);
      return isNamed ? addresses.toolResult(upstream.name, result) : result;
    },
  };
  return {
    definition,
    source: {
      ...{ server: upstream.name, name: original },
      ...(definition === described ? {} : { described }),
    },
    ...(upstream.person === undefined ? {} : { person: upstream.person }),
    ...(isOfProject(upstream.settings) ? { project: TOLD } : {}),
    ...(task === undefined ? {} : { task }),
    timeout: timeoutOf(upstream.settings),
    // A server that we start ends with us.
    ...("url" in upstream.settings ? { resume: resuming(upstream, addresses) } : {}),
    call: (args, context) => {
      const work = (client: McpClient): Promise<ToolResult> =>
        client.callTool(original, args, context, how);
      if (upstream.person === undefined && context.span === undefined) {
        return upstream.callToolFor(context, name, work, harmless);
      }
      const make = () => upstream.callToolFor(context, name, work, harmless);
      return tracedHop(context, attributes, () => upstream.gated(context, make));
    },
  };
}

function resuming(upstream: Upstream, addresses: ResourceAddresses): NonNullable<Tool["resume"]> {
  return async (taskId, context) => {
    try {
      const work = (client: McpClient) => client.resumeTask(taskId, context);
      return addresses.toolResult(upstream.name, await upstream.useFor(context, work));
    } catch (error) {
      if (!(error instanceof ToolFault) || error.code !== STANDARD.invalidParams.code) throw error;
      const what = `MCP server '${upstream.name}' does not know its task any more`;
      const since = "which was begun before Trunkline was restarted";
      throw new ToolFault(TRUNKLINE.interrupted.code, `${what}, ${since}. Call the tool again.`);
    }
  };
}

/** The kinds of content that name a resource. */
const RESOURCES: ReadonlySet<string> = new Set(["resource", "resource_link"]);

/** MCP, server/tools § Tool (annotations): whether a repeated call has no further effect. */
function isHarmless({ annotations }: Entry): boolean {
  const { readOnlyHint, idempotentHint } = isObject(annotations) ? annotations : {};
  return readOnlyHint === true || idempotentHint === true;
}

function taskSupportOf({ execution }: Entry, hasTasks: boolean): Tool["task"] {
  if (hasTasks) return "if-asked";
  const support = isObject(execution) ? execution.taskSupport : undefined;
  return support === "required" || support === "optional" ? support : undefined;
}

/**
 * Some clients reject a whole list for one tool without a schema, so it gets an empty one, or for one whose
 * arguments are not an object, which they always are.
 */
function schemaOf({ inputSchema }: Entry): Entry {
  if (!isObject(inputSchema)) return { type: "object" };
  return inputSchema.type === "object" ? inputSchema : { ...inputSchema, type: "object" };
}
