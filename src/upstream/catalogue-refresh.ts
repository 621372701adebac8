import { STANDARD } from "../rpc/codes.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import { routedOf } from "../protocol/mcp/meta.ts";
import type { McpClient } from "../protocol/mcp/connect/connect.ts";
import { type Catalogue, type CatalogueKind, EMPTY_CATALOGUE } from "./catalogue.ts";

export interface CatalogueRefreshOptions {
  /** Milliseconds for which change notifications are debounced. */
  readonly gather: number;
  /** The catalogue has changed. */
  readonly changed: (kind: CatalogueKind) => void;
  readonly failed: (kind: CatalogueKind, error: unknown) => void;
}

const KINDS: readonly CatalogueKind[] = ["tools", "prompts", "resources"];
/**
 * Backoff for a server that announces changes without end: it starts early when the announcements
 * bring nothing new, and later when they do.
 */
const LONGEST_GATHER = 10_000;
const MOST_IDLE = 3;
const MOST_BUSY = 12;
/** How often a failed list is retried while an older one is known. */
const MOST_RETRIES = 5;

/** Keeps the catalogue up to date: lists are fetched on connecting and after change notifications. */
export class CatalogueRefresh {
  catalogue: Catalogue | undefined;
  /** Why the tools could not be listed, until they are. */
  problem: string | undefined;
  readonly #options: CatalogueRefreshOptions;
  readonly #due = new Set<CatalogueKind>();
  #client: McpClient | undefined;
  /** Resolves when a server that was just connected has listed its tools, or has failed to. */
  listing: Promise<void> | undefined;
  #endListing = (): void => {};
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Failures in a row. */
  #failures = 0;
  /** Refreshes in a row that found nothing new. */
  #idle = 0;
  /** Refreshes that came soon after each other, whatever they found. */
  #busy = 0;
  #lastRun = 0;

  constructor(options: CatalogueRefreshOptions) {
    this.#options = options;
  }

  /** Why its tools could not be listed, or why it has none. */
  state(client: McpClient | undefined): { readonly listError?: string; readonly noTools?: string } {
    const { problem: listError, listing, catalogue } = this;
    const isListed = client !== undefined && listing === undefined;
    if (isListed && listError !== undefined) return { listError };
    if (catalogue?.tools.length !== 0) return {};
    return { noTools: catalogue.noTools ?? "its list is empty" };
  }

  connected(client: McpClient): void {
    this.#client = client;
    this.listing = new Promise((resolve) => (this.#endListing = resolve));
    for (const kind of KINDS) this.#due.add(kind);
    this.#idle = 0;
    this.#failures = 0;
    this.#run();
  }

  disconnected(): void {
    this.#client = undefined;
    this.#listed();
    this.stop();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#due.clear();
  }

  /** The upstream has announced that a list has changed. */
  due(kind: CatalogueKind): void {
    this.#due.add(kind);
    if (this.#timer !== undefined || this.#client === undefined) return;
    const patience = Math.max(0, this.#idle - MOST_IDLE, this.#busy - MOST_BUSY);
    const wait = Math.min(this.#options.gather * 2 ** patience, LONGEST_GATHER);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#run();
    }, wait).unref();
  }

  /** Resolves when the lists that were due have been requested. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #run(): void {
    const client = this.#client;
    if (this.#running !== undefined || client === undefined || this.#due.size === 0) return;
    const kinds = [...this.#due];
    const now = performance.now();
    this.#busy = now - this.#lastRun > 2 * LONGEST_GATHER ? 0 : this.#busy + 1;
    this.#lastRun = now;
    this.#due.clear();
    // The catalogue counts as known only once the tools are: without them nothing would start it.
    const [first = "tools", ...rest] = kinds;
    const tools = this.#ask(client, first);
    const others = rest.map((kind) => this.#ask(client, kind, tools));
    this.#running = this.#finish([tools, ...others]);
  }

  #listed(): void {
    this.#endListing();
    this.listing = undefined;
  }

  async #finish(asked: readonly Promise<boolean>[]): Promise<void> {
    const news = await Promise.all(asked);
    this.#running = undefined;
    this.#idle = news.includes(true) ? 0 : this.#idle + 1;
    const [next] = this.#due;
    if (next !== undefined) this.due(next);
  }

  /** True if the list has changed. */
  async #ask(client: McpClient, kind: CatalogueKind, after?: Promise<unknown>): Promise<boolean> {
    using ends = new DisposableStack();
    ends.defer(() => {
      if (kind === "tools" && this.#client === client) this.#listed();
    });
    let part: Awaited<ReturnType<typeof ask>>;
    try {
      part = await ask(client, kind);
      await after;
    } catch (error) {
      // Keep what is known; a lost connection is reported elsewhere.
      if (this.#client === client) this.#failed(kind, error);
      return false;
    }
    this.#failures = 0;
    if (kind === "tools") this.problem = undefined;
    const before = this.catalogue;
    if (this.#client !== client || (before === undefined && kind !== "tools")) return false;
    const last = before ?? EMPTY_CATALOGUE;
    const unknown = last.unknown?.filter((each) => each !== kind) ?? [];
    const now = { ...last, ...part, unknown } as Catalogue;
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(now)) return false;
    this.catalogue = now;
    this.#options.changed(kind);
    return true;
  }

  /** A failed list is retried by a timer: no notification would lead to it. */
  #failed(kind: CatalogueKind, error: unknown): void {
    this.#options.failed(kind, error);
    if (kind === "tools") this.problem = error instanceof Error ? error.message : String(error);
    if (this.catalogue === undefined || ++this.#failures <= MOST_RETRIES) this.#due.add(kind);
  }
}

/** Characters that are kept; clients get fewer. */
const LONGEST_INSTRUCTIONS = 16_384;

async function ask(
  client: McpClient,
  kind: CatalogueKind,
): Promise<{ readonly [K in keyof Catalogue]?: Catalogue[K] | undefined }> {
  switch (kind) {
    case "tools": {
      const tools = await client.listTools();
      return {
        tools,
        noTools: tools.length === 0 ? client.whyNoTools : undefined,
        hasTasks: client.hasTasks,
        hasResources: client.capabilities.resources !== undefined,
        extensions: routedOf(client.capabilities),
        // Set even if there are none, so that earlier ones are forgotten.
        instructions: client.instructions?.slice(0, LONGEST_INSTRUCTIONS),
      };
    }
    case "prompts":
      return { prompts: await client.listPrompts().catch(noneIfUnknown) };
    case "resources": {
      const [resources, templates] = await Promise.all([
        client.listResources().catch(noneIfUnknown),
        client.listTemplates().catch(noneIfUnknown),
      ]);
      return { resources, templates };
    }
  }
}

/** Some servers declare more than they serve. */
function noneIfUnknown(error: unknown): [] {
  if (error instanceof RpcError && error.code === STANDARD.methodNotFound.code) return [];
  throw error;
}
