import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import { loginsPath } from "../../store/store-files.ts";
import { Offer } from "../../tool/offer/offer.ts";
import type { ToolboxOptions } from "../../tool/toolbox.ts";
import { Policy } from "../../tool/policy.ts";
import type { HttpAuthorization } from "../http/http-exchange.ts";
import { background } from "../../base/background.ts";
import type { AddressSettings } from "../settings.ts";
import type { UpstreamStatus } from "../upstream.ts";
import type { Upstreams } from "../upstreams.ts";
import type { Config } from "../../config/config.ts";
import { toolPolicy } from "../../config/tool-policy.ts";
import { followConfig, type LiveConfig, type Reloading } from "../../config/follow-config.ts";
import type { AppContext } from "../../config/app-context.ts";
import { profilesOf } from "../../config/profiles-of.ts";
import { openToolHooks } from "../../hooks/open/open-tool-hooks.ts";
import type { ToolHooks } from "../../hooks/open/tool-hooks.ts";
import { watchFiles } from "../../config/watch-files.ts";

export interface OpenOfferOptions {
  /** What is offered already; an empty offer when left out. */
  readonly offer?: Offer;
  readonly toolbox?: ToolboxOptions;
  /** Called before the first MCP server is configured. */
  readonly beforeUpstreams?: () => Promise<void>;
  /** Without it the configuration stays as it was at the start. */
  readonly reloading?: Reloading;
}

/** What the doors pass on, with the tools of the configured MCP servers in it. */
export interface OpenedOffer extends AsyncDisposable {
  readonly offer: Offer;
  /**
   * To be awaited before a list of tools or prompts is answered: starts servers of which nothing is
   * known yet, and waits for them for a bounded time. Undefined when there is nothing to wait for.
   */
  known(): Promise<void> | undefined;
  /** Starts every configured MCP server, and waits until each is up or has failed. */
  started(): Promise<void>;
  /** How each configured MCP server is. */
  status(): UpstreamStatus[];
  /** Ends a configured MCP server and starts it anew. Throws "not-found" where there is none. */
  restart(name: string): Promise<void>;
}

/**
 * Offers what the configuration names. Where it names no MCP servers, nothing for them is loaded.
 */
export async function openOffer(
  app: AppContext,
  options: OpenOfferOptions = {},
): Promise<OpenedOffer> {
  const opened = new ConfiguredOffer(app, options);
  await opened.open();
  return opened;
}

class ConfiguredOffer implements OpenedOffer {
  readonly offer: Offer;
  readonly #app: AppContext;
  readonly #options: OpenOfferOptions;
  readonly #ends: (() => void)[] = [];
  #table: Config["mcpServers"];
  #upstreams: Upstreams | undefined;
  readonly #changes = new TaskQueue();
  #configuring: Promise<void> | undefined;
  #followsLogins = false;
  #isOver = false;
  /** What decides on the lists of clients, as text. */
  #shown: string;
  /** The settings of the gateway's hooks, as text. */
  #hooked = "{}";
  #hooks: ToolHooks | undefined;

  constructor(app: AppContext, options: OpenOfferOptions) {
    this.offer = options.offer ?? new Offer(options.toolbox);
    this.#app = app;
    this.#options = options;
    this.#table = enabledServers(app.config.mcpServers);
    this.#shown = JSON.stringify([app.config.policy, app.config.profiles]);
  }

  known(): Promise<void> | undefined {
    return this.#upstreams?.known();
  }

  async started(): Promise<void> {
    await this.#upstreams?.started();
  }

  status(): UpstreamStatus[] {
    return this.#upstreams?.status() ?? [];
  }

  async restart(name: string): Promise<void> {
    await this.#opened();
    if (this.#upstreams !== undefined) return this.#upstreams.restart(name);
    throw new TrunklineError("not-found", `There is no MCP server '${name}'.`);
  }

  async open(): Promise<void> {
    const { reloading } = this.#options;
    if (Object.keys(this.#table).length > 0) await this.#opened();
    const { log, config } = this.#app;
    await this.#applyHooks(config);
    this.#ends.push(
      followConfig(reloading, log, async (config) => {
        this.offer.tools.policy = new Policy(toolPolicy(config));
        await this.#applyHooks(config);
        return this.#applyProfiles(config);
      }),
      followConfig(reloading, log, ({ mcpServers }) => this.#configure(enabledServers(mcpServers))),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const end of this.#ends) end();
    await this.#configuring?.catch(() => {});
    await this.#upstreams?.[Symbol.asyncDispose]();
    await this.#hooks?.[Symbol.asyncDispose]();
  }

  /** Hooks that have not changed go on, with what they have counted. */
  async #applyHooks(config: Pick<LiveConfig, "toolHooks">): Promise<void> {
    const settings = JSON.stringify(config.toolHooks);
    if (settings === this.#hooked) return;
    this.#hooked = settings;
    const before = this.#hooks;
    const { tools } = this.offer;
    this.#hooks = await openToolHooks(this.#app, config, tools.audit);
    tools.hooks = this.#hooks;
    await before?.[Symbol.asyncDispose]();
  }

  /** Clients see other lists with another policy, and with other profiles. */
  async #applyProfiles(config: LiveConfig): Promise<void> {
    const text = JSON.stringify([config.policy, config.profiles]);
    if (text === this.#shown) return;
    this.#shown = text;
    const isNeeded = this.offer.profiles !== undefined || Object.keys(config.profiles).length > 0;
    this.offer.profiles = isNeeded ? await profilesOf(config) : undefined;
  }

  /** Resolves when the servers are configured as the configuration last said. */
  #opened(): Promise<void> {
    return this.#configuring ?? this.#configure(this.#table);
  }

  #configure(table: Config["mcpServers"]): Promise<void> {
    this.#table = table;
    const now = this.#changes.run(() => this.#configureNow(table));
    this.#configuring = now;
    now.catch(() => {
      if (this.#configuring === now) this.#configuring = undefined;
    });
    return now;
  }

  async #configureNow(table: Config["mcpServers"]): Promise<void> {
    if (this.#isOver) return;
    if (this.#upstreams === undefined && Object.keys(table).length === 0) return;
    this.#upstreams ??= await this.#load();
    await this.#upstreams.configure(table);
  }

  async #load(): Promise<Upstreams> {
    await this.#options.beforeUpstreams?.();
    const { Upstreams } = await import("../upstreams.ts");
    const { serverReferences } = await import("./server-references.ts");
    const { withReferences } = await import("../references.ts");
    const { withHelpedHeaders } = await import("./headers-helper.ts");
    const { openLink } = await import("../link.ts");
    const { isAddress } = await import("../settings.ts");
    const { config, log } = this.#app;
    const references = serverReferences(this.#app);
    const upstreams = new Upstreams({
      offer: this.offer,
      folder: join(config.data, "upstreams"),
      log,
      channelLimits: config.limits,
      open: async (settings, events, limits, name) => {
        const resolved = await withHelpedHeaders(await withReferences(settings, references), name);
        const tokens = isAddress(resolved) ? await this.#tokensFor(name, resolved) : undefined;
        return openLink(resolved, events, limits, { authorization: tokens });
      },
    });
    this.offer.waitFor(upstreams);
    return upstreams;
  }

  /** Somebody has logged in: servers that are down may have waited for that. */
  async #retryDown(): Promise<void> {
    const { isAddress } = await import("../settings.ts");
    for (const { name, state } of this.status()) {
      const isDown = state === "waiting" || state === "resting";
      const settings = this.#table[name];
      if (!isDown || settings === undefined || !isAddress(settings)) continue;
      this.restart(name).catch(() => {});
    }
  }

  async #tokensFor(name: string, settings: AddressSettings): Promise<HttpAuthorization> {
    const { ServerLogins } = await import("./server-logins.ts");
    const { config, log } = this.#app;
    if (!this.#followsLogins) {
      this.#followsLogins = true;
      this.#ends.push(
        watchFiles([loginsPath(config.data)], () =>
          background(this.#retryDown(), "Trying servers again"),
        ),
      );
    }
    const logins = new ServerLogins({ data: config.data, env: process.env });
    return logins.tokensFor(name, settings, log);
  }
}

/** The servers that are used. */
function enabledServers(table: Config["mcpServers"]): Config["mcpServers"] {
  return Object.fromEntries(Object.entries(table).filter(([, { disabled }]) => disabled !== true));
}
