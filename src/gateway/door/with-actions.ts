import { jugglerRoutes } from "../../protocol/juggler/serve.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import type { LazyTools } from "../tool/lazy-tools.ts";

/**
 * Has another dialect's door understand RemoteJuggler's actions too, though they may never come:
 * the first message tells which is spoken.
 */
export function withActions<S>(door: PeerOptions<S>, { offer }: LazyTools): PeerOptions<S> {
  const own = jugglerRoutes<S>({ offer, folder: process.cwd() });
  return {
    ...door,
    routes: new Map([...door.routes, ...own.map((each) => [each.name, each] as const)]),
  };
}
