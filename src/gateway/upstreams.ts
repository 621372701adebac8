import { join } from "node:path";

import { Offer } from "../tool/offer.ts";
import type { ToolboxOptions } from "../tool/toolbox.ts";
import type { UpstreamStatus } from "../upstream/upstream.ts";
import type { Upstreams } from "../upstream/upstreams.ts";
import type { Config } from "./config/config.ts";
import type { House } from "./house.ts";
import { watchFiles } from "./watch-files.ts";

/** How the configuration is read again when one of its files changes. */
export interface Reloading {
  /** The files to watch, whether they are there yet or not. */
  readonly files: readonly string[];
  load(): Promise<Pick<Config, "mcpServers">>;
}

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
  /** How each configured MCP server is. */
  status(): UpstreamStatus[];
}

/** Offers what the configuration names. Where it names no MCP servers, nothing for them is loaded. */
export async function openOffer(
  house: House,
  options: OpenOfferOptions = {},
): Promise<OpenedOffer> {
  const offer = options.offer ?? new Offer(options.toolbox);
  let upstreams: Upstreams | undefined;
  let isOver = false;

  const configure = async ({ mcpServers }: Pick<Config, "mcpServers">): Promise<void> => {
    if (isOver || (upstreams === undefined && Object.keys(mcpServers).length === 0)) return;
    if (upstreams === undefined) {
      await options.beforeUpstreams?.();
      const loaded = (upstreams = await loadUpstreams(house, offer));
      offer.waitFor(() => loaded.known());
    }
    await upstreams.configure(mcpServers);
  };

  await configure(house.config);
  const reload = async (): Promise<void> => {
    try {
      const config = await options.reloading?.load();
      if (config !== undefined) await configure(config);
      house.log.info("config.reloaded");
    } catch (error) {
      // A file that is being edited may be wrong for a moment: what was good stays in force.
      house.log.warn("config.not-reloaded", { error });
    }
  };
  const stopWatching = watchFiles(options.reloading?.files ?? [], () => void reload());
  return {
    offer,
    known: () => upstreams?.known(),
    status: () => upstreams?.status() ?? [],
    async [Symbol.asyncDispose]() {
      isOver = true;
      stopWatching();
      await upstreams?.[Symbol.asyncDispose]();
    },
  };
}

async function loadUpstreams(house: House, offer: Offer): Promise<Upstreams> {
  const { Upstreams } = await import("../upstream/upstreams.ts");
  return new Upstreams({
    offer,
    folder: join(house.config.data, "upstreams"),
    log: house.log,
    channelLimits: house.config.limits,
  });
}
