import { Log } from "../base/log.ts";
import type { PeerOptions } from "../rpc/peer-options.ts";
import type { Config } from "./config/config.ts";
import { traceTo } from "./trace.ts";

/** The running program as the doors see it: its configuration and its log. */
export class House {
  readonly config: Config;
  readonly log: Log;

  constructor(config: Config) {
    this.config = config;
    this.log = new Log(config.log.verbose ? "debug" : config.log.level);
  }

  /** A door's options, with the house's limits and its log. */
  furnish<S>(door: PeerOptions<S>): PeerOptions<S> {
    const log = this.log.with({ door: door.dialect.name });
    return {
      ...door,
      limits: this.config.limits,
      report: (event, fields) => log.warn(event, fields),
      // Writing every message costs more than handling it: only when asked for.
      ...(this.config.log.verbose ? { trace: traceTo(log) } : {}),
    };
  }
}
