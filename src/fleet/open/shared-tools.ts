import { join } from "node:path";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { OWNER } from "../../base/principal.ts";
import type { FleetConnection } from "../connection/connect.ts";
import { type NodeAddress, NodeServer, reachNode } from "../connection/node-server.ts";
import type { Member, Members } from "../members/members.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { type Tool, errorResult } from "../../tool/tool.ts";
import { type UpstreamOffer, Upstreams } from "../../upstream/upstreams.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Channel } from "../../wire/channel.ts";
import type { AppContext } from "../../config/app-context.ts";
import { withCaller, calledBy } from "./shared-caller.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Peer } from "../../rpc/peer.ts";
import { Published } from "../../tool/offer/published.ts";

export interface SharedToolsOptions {
  readonly app: AppContext;
  /** The offer of this node, whose approvals are open. */
  readonly offer: Offer;
  readonly fleet: {
    readonly connection: FleetConnection;
    readonly self: NodeAddress;
    readonly members: Pick<Members, "alive" | "onChange" | "tell" | "untilGone">;
  };
}

/**
 * The tools of all nodes of a pool. Each node offers those of its own MCP servers and plugins, and to
 * its clients and sessions also those of the others: another node is an MCP server like any other, so
 * names, policy, approval, timeouts, audit and profiles are the same for its tools.
 */
export class SharedTools implements AsyncDisposable {
  readonly #options: SharedToolsOptions;
  readonly #foreign = new Set<Tool>();
  readonly #own: SharedOffer;
  readonly #upstreams: Upstreams;
  readonly #server: NodeServer;
  readonly #known: Promise<void>;
  readonly #stopFollowing: () => void;
  #nodes = "";

  constructor(options: SharedToolsOptions) {
    const { app, offer, fleet } = options;
    const { connection, self, members } = fleet;
    const { config, log } = app;
    this.#options = options;
    this.#own = new SharedOffer(app, offer, {
      isForeign: (tool) => this.#foreign.has(tool),
      changed: () => members.tell(),
    });
    this.#upstreams = new Upstreams({
      offer: this.#publisher(),
      folder: join(config.data, "fleet-tools"),
      log,
      channelLimits: config.limits,
      open: async (_settings, _events, _limits, name) => {
        return { channel: await this.#reach(name), end: async () => {} };
      },
    });
    this.#server = new NodeServer({
      connection,
      node: self,
      service: "tools",
      limits: config.limits,
      log,
      serve: (channel, _, from) => this.#own.serve(channel, from),
    });
    // The servers of this node are asked first: their tools keep their names, and others are told of them.
    this.#known = Promise.resolve(offer.known()).catch(() => {});
    this.#stopFollowing = members.onChange(() => this.#follow());
    this.#follow();
  }

  /** What this node tells the others. */
  get state(): { readonly tools: number } {
    return { tools: this.#own.count };
  }

  /** How the other nodes are, as MCP servers. */
  status(): UpstreamStatus[] {
    return this.#upstreams.status();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopFollowing();
    this.#server[Symbol.dispose]();
    this.#own[Symbol.dispose]();
    await this.#upstreams[Symbol.asyncDispose]();
  }

  /** Those that have tools, by name. */
  get #others(): Member[] {
    const { members, self } = this.#options.fleet;
    return members.alive.filter(({ id, tools = 0 }) => id !== self.id && tools > 0);
  }

  #follow(): void {
    const names = [...new Set(this.#others.map(({ name }) => name))];
    const nodes = JSON.stringify(names);
    if (nodes === this.#nodes) return;
    this.#nodes = nodes;
    const table = Object.fromEntries(names.map((name) => [name, { url: `node:${name}` }]));
    // Lists of clients do not wait for other nodes, which may wait for this one.
    const configured = this.#known.then(() => this.#upstreams.configure(table));
    const started = configured.then(() => this.#upstreams.started());
    background(started, "Asking other nodes for their tools");
  }

  async #reach(name: string): Promise<Channel<string>> {
    const { connection, members, self } = this.#options.fleet;
    const node = this.#others.findLast((each) => each.name === name);
    // For whom a tool is called is part of each call.
    const principal = { ...OWNER, name: self.name };
    if (node !== undefined) {
      const gone = members.untilGone(node.id);
      return await reachNode(connection, node, principal, { service: "tools", gone });
    }
    throw new TrunklineError("unavailable", `Node '${name}' is gone`);
  }

  /** Where the tools of other nodes go. Only tools are shared. */
  #publisher(): UpstreamOffer {
    const { offer } = this.#options;
    return {
      tools: {
        get: (name) => offer.tools.get(name),
        add: (tool) => {
          const named: Tool = {
            ...tool,
            call: (args, context) => tool.call(args, withCaller(context)),
          };
          this.#foreign.add(named);
          const remove = offer.tools.add(named);
          return () => {
            remove();
            this.#foreign.delete(named);
          };
        },
      },
      prompts: { get: () => undefined, add: () => () => {} },
      resources: { add: () => () => {}, changed: () => {}, updated: () => {} },
      notices: { post: (notice) => offer.notices.post(notice) },
      clients: { onGone: (listener) => offer.clients.onGone(listener) },
      instructions: { replace: () => {}, isApproved: () => true },
    };
  }
}

export interface SharedOfferOptions {
  /** Whether a tool is itself one of another node. */
  readonly isForeign: (tool: Tool) => boolean;
  /** There are more or fewer tools. */
  readonly changed: () => void;
}

/**
 * Offers the tools of the MCP servers and plugins of this node to other nodes. A call goes through the
 * offer of this node, so its policy, limits and audit apply to it, for whoever made the call there.
 */
export class SharedOffer implements Disposable {
  readonly #app: AppContext;
  readonly #own: Offer;
  readonly #options: SharedOfferOptions;
  readonly #offered = new Offer();
  readonly #tools = new Published<Tool>((_, tool) => this.#offered.tools.add(tool));
  readonly #door = new McpDoor({ offer: this.#offered });
  readonly #stopFollowing: () => void;
  readonly #keys = new WeakMap<Tool, number>();
  #lastKey = 0;
  /** How many tools other nodes are offered, as far as that is known. */
  count = 0;

  constructor(app: AppContext, own: Offer, options: SharedOfferOptions) {
    this.#app = app;
    this.#own = own;
    this.#options = options;
    // What this node offers may not be known yet: its servers are started when somebody asks.
    this.#offered.waitFor(own);
    this.#stopFollowing = own.tools.onChange(() => this.#publish());
    this.#publish();
  }

  /** Serves another node until its channel ends. */
  async serve(channel: Channel<string>, node: string): Promise<void> {
    using connection = new Connection({ ...OWNER, name: node });
    const options = this.#app.withLimits(this.#door.optionsFor(connection));
    const peer = new Peer(channel, connection, options);
    await peer.ended.then(() => peer.close(0));
  }

  [Symbol.dispose](): void {
    this.#stopFollowing();
    this.#door.close();
  }

  /** Our own tools are at every node, so they are not offered. */
  #publish(): void {
    const tools = this.#own.tools.list().filter((tool) => {
      const isOurs = tool.source === undefined && tool.bringer === undefined;
      return !isOurs && !this.#options.isForeign(tool);
    });
    const before = this.count;
    this.count = tools.length;
    this.#tools.replace(
      tools.map((tool) => {
        const { name } = tool.definition;
        return { name, key: this.#keyOf(tool), make: () => this.#passedOn(tool) };
      }),
    );
    if (this.count !== before) this.#options.changed();
  }

  #keyOf(tool: Tool): string {
    const key = this.#keys.get(tool) ?? ++this.#lastKey;
    this.#keys.set(tool, key);
    return String(key);
  }

  #passedOn({ definition, task }: Tool): Tool {
    return {
      definition,
      ...(task === undefined ? {} : { task }),
      // Where it runs, its arguments are checked.
      checksItself: true,
      call: (args, context) => {
        const called = calledBy(context, context.caller.name);
        if (called !== undefined) return this.#own.tools.call(definition.name, args, called);
        return errorResult("The other node does not say for whom it calls. Update it.");
      },
    };
  }
}
