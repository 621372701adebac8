import { join } from "node:path";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import type { AppContext } from "../../config/app-context.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Peer } from "../../rpc/peer.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { PublishedEntries } from "../../tool/offer/published-entries.ts";
import { type Caller, type Tool, type ToolContext, errorResult } from "../../tool/tool.ts";
import { type UpstreamOffer, Upstreams } from "../../upstream/upstreams.ts";
import type { Channel } from "../../wire/channel.ts";
import type { FleetConnection } from "../connection/connect.ts";
import { type NodeAddress, serveNode, reachNode } from "../connection/node-server.ts";
import type { Member, Members } from "../members/members.ts";

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
export function shareTools({ app, offer, fleet }: SharedToolsOptions) {
  const { connection, self, members } = fleet;
  const { config, log } = app;
  const foreign = new Set<Tool>();
  const own = shareOffer(app, offer, {
    isForeign: (tool) => foreign.has(tool),
    changed: () => members.tell(),
  });

  /** Those that have tools, by name. */
  const others = (): Member[] =>
    members.alive.filter(({ id, tools = 0 }) => id !== self.id && tools > 0);

  /** Where the tools of other nodes go. Only tools are shared. */
  const publisher: UpstreamOffer = {
    tools: {
      get: (name) => offer.tools.get(name),
      add: (tool) => {
        const call: Tool["call"] = (args, context) => tool.call(args, withCaller(context));
        const named: Tool = { ...tool, call };
        foreign.add(named);
        const remove = offer.tools.add(named);
        return () => {
          remove();
          foreign.delete(named);
        };
      },
    },
    prompts: { get: () => undefined, add: () => () => {} },
    resources: { add: () => () => {}, changed: () => {}, updated: () => {} },
    notices: { post: (notice) => offer.notices.post(notice) },
    clients: { onGone: (listener) => offer.clients.onGone(listener) },
    instructions: { replace: () => {}, isApproved: () => true },
  };
  const upstreams = new Upstreams({
    ...{ offer: publisher, folder: join(config.data, "fleet-tools"), log },
    channelLimits: config.limits,
    open: async (_settings, _events, _limits, name) => {
      const node = others().findLast((each) => each.name === name);
      if (node === undefined) throw new TrunklineError("unavailable", `Node '${name}' is gone`);
      // For whom a tool is called is part of each call.
      const principal = { ...OWNER, name: self.name };
      const reaching = { service: "tools", gone: members.untilGone(node.id) } as const;
      const channel = await reachNode(connection, node, principal, reaching);
      return { channel, end: async () => {} };
    },
  });
  const server = serveNode({
    ...{ connection, node: self, service: "tools", limits: config.limits, log },
    serve: (channel, _, from) => own.serve(channel, from),
  });
  // The servers of this node are asked first: their tools keep their names, and the other nodes are told of
  // them.
  const known = Promise.resolve(offer.known()).catch(() => {});
  let nodes = "";
  const follow = (): void => {
    const names = [...new Set(others().map(({ name }) => name))];
    if (nodes === JSON.stringify(names)) return;
    nodes = JSON.stringify(names);
    const table = Object.fromEntries(names.map((name) => [name, { url: `node:${name}` }]));
    // Lists of clients do not wait for other nodes, which may wait for this one.
    const configured = known.then(() => upstreams.configure(table));
    const started = configured.then(() => upstreams.started());
    background(started, "Asking other nodes for their tools");
  };
  const stopFollowing = members.onChange(follow);
  follow();
  return {
    /** The state that this node publishes. */
    get state() {
      return { tools: own.count() };
    },

    /** The status of the other nodes, as MCP servers. */
    status: () => upstreams.status(),

    async [Symbol.asyncDispose](): Promise<void> {
      stopFollowing();
      server[Symbol.dispose]();
      own[Symbol.dispose]();
      await upstreams[Symbol.asyncDispose]();
    },
  };
}

interface SharedOfferOptions {
  /** Whether a tool is itself one of another node. */
  readonly isForeign: (tool: Tool) => boolean;
  /** There are more or fewer tools. */
  readonly changed: () => void;
}

/**
 * Offers the tools of the MCP servers and plugins of this node to other nodes. A call goes through the
 * offer of this node, so its policy, limits and audit apply to it, for whoever made the call there.
 */
function shareOffer(app: AppContext, own: Offer, { isForeign, changed }: SharedOfferOptions) {
  const offered = new Offer();
  const published = new PublishedEntries<Tool>((_, tool) => offered.tools.add(tool));
  const door = new McpDoor({ offer: offered });
  const keys = new WeakMap<Tool, number>();
  let lastKey = 0;
  let count = 0;
  const keyOf = (tool: Tool): string => {
    const key = keys.get(tool) ?? ++lastKey;
    keys.set(tool, key);
    return String(key);
  };
  const passedOn = ({ definition, task }: Tool): Tool => ({
    definition,
    ...(task === undefined ? {} : { task }),
    // Where it runs, its arguments are checked.
    checksItself: true,
    call: (args, context) => {
      const called = calledBy(context, context.caller.name);
      if (called !== undefined) return own.tools.call(definition.name, args, called);
      return errorResult("The other node does not say for whom it calls. Update it.");
    },
  });
  /** Our own tools are at every node, so they are not offered. */
  const publish = (): void => {
    const tools = own.tools.list().filter((tool) => {
      const isOurs = tool.source === undefined && tool.bringer === undefined;
      return !isOurs && !isForeign(tool);
    });
    const before = count;
    count = tools.length;
    published.replace(
      tools.map((tool) => {
        const { name } = tool.definition;
        return { name, key: keyOf(tool), make: () => passedOn(tool) };
      }),
    );
    if (count !== before) changed();
  };
  // The tools of this node may be unknown yet: its servers are started when somebody asks.
  offered.waitFor(own);
  const stopFollowing = own.tools.onChange(publish);
  publish();
  return {
    /** How many tools other nodes are offered, as far as that is known. */
    count: () => count,
    /** Serves another node until its channel ends. */
    serve: async (channel: Channel<string>, node: string): Promise<void> => {
      using connection = new Connection({ ...OWNER, name: node });
      const peer = new Peer(channel, connection, app.withLimits(door.optionsFor(connection)));
      await peer.ended.then(() => peer.close(0));
    },
    [Symbol.dispose]: (): void => {
      stopFollowing();
      door.close();
    },
  };
}

/** The member of `_meta` in which a node says for whom it calls a tool of another node. */
const CALLER = "trunkline.dev/caller";

/** For whom a node calls a tool of another node, and where that works. */
interface SharedCaller {
  readonly principal: Principal;
  readonly name: string;
  readonly client: string;
  readonly folder?: string | undefined;
}

/** The context of a call that another node is to carry out: it says who calls. */
function withCaller(context: ToolContext): ToolContext {
  const { caller, project, folder = project?.folder } = context;
  const { principal, name, client } = caller;
  const told: SharedCaller = { principal, name, client, folder };
  return contextFor(context, caller, folder, { ...context.meta, [CALLER]: told });
}

/**
 * The context of a call that another node has sent, with whom it calls for. Undefined where it does not
 * say so. Only nodes are served with it, and what they say is trusted.
 */
function calledBy(context: ToolContext, node: string): ToolContext | undefined {
  const { [CALLER]: told, ...meta } = context.meta;
  if (!isCaller(told)) return undefined;
  const { principal, name, client, folder } = told;
  const caller: Caller = {
    door: context.caller.door,
    name,
    // Another node cannot act with a person's own logins at this gateway.
    principal: { ...OWNER, ...principal, person: `node ${node}` },
    client: `${node} ${client}`,
  };
  return contextFor(context, caller, folder, meta);
}

function isCaller(value: unknown): value is SharedCaller {
  const { principal, name, client, folder } = (value ?? {}) as Partial<Record<string, unknown>>;
  const { id } = (principal ?? {}) as Partial<Principal>;
  const texts = [id, name, client, folder ?? ""];
  return texts.every((text) => typeof text === "string");
}

/** The same context with another caller, folder and `_meta`, and without the project. */
function contextFor(
  context: ToolContext,
  caller: Caller,
  folder: string | undefined,
  meta: ToolContext["meta"],
): ToolContext {
  const { session, span } = context;
  return {
    caller,
    folder,
    meta,
    session,
    span,
    get signal() {
      return context.signal;
    },
    get isTask() {
      return context.isTask === true;
    },
    ...(context.roots === undefined ? {} : { roots: async () => context.roots?.() }),
    ...(context.piece === undefined
      ? {}
      : { piece: async (data, contentType) => context.piece?.(data, contentType) }),
    progress: (...given) => context.progress(...given),
    log: (...given) => context.log(...given),
    canAsk: (question) => context.canAsk(question),
    ask: (question) => context.ask(question),
    remoteTask: (taskId) => context.remoteTask?.(taskId),
    pageDone: (id) => context.pageDone?.(id),
  };
}
