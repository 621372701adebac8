import { OWNER } from "../../base/principal.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Peer } from "../../rpc/peer.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Published } from "../../tool/offer/published.ts";
import { errorResult, type Tool } from "../../tool/tool.ts";
import type { Channel } from "../../wire/channel.ts";
import type { AppContext } from "../../config/app-context.ts";
import { calledBy } from "./shared-caller.ts";

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
  #count = 0;

  constructor(app: AppContext, own: Offer, options: SharedOfferOptions) {
    this.#app = app;
    this.#own = own;
    this.#options = options;
    // What this node offers may not be known yet: its servers are started when somebody asks.
    this.#offered.waitFor(own);
    this.#stopFollowing = own.tools.onChange(() => this.#publish());
    this.#publish();
  }

  /** How many tools other nodes are offered, as far as that is known. */
  get count(): number {
    return this.#count;
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
    const before = this.#count;
    this.#count = tools.length;
    this.#tools.replace(
      tools.map((tool) => {
        const { name } = tool.definition;
        return { name, key: this.#keyOf(tool), make: () => this.#passedOn(tool) };
      }),
    );
    if (this.#count !== before) this.#options.changed();
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
