import { BUFFERS } from "../base/limit/byte-budget.ts";
import { limitsFor } from "../base/limit/limits.ts";
import { Log } from "../base/log.ts";
import type { PeerOptions } from "../rpc/peer-options.ts";
import type { Config } from "./config/config.ts";
import { traceTo } from "./door/trace.ts";
import type { Reloading } from "./config/follow-config.ts";

/** The running program as the doors see it: its configuration and its log. */
export class House {
  readonly config: Config;
  readonly log: Log;
  /** How the configuration is read again when it changes; a short command has no need to. */
  readonly reloading: Reloading | undefined;

  constructor(config: Config, reloading?: Reloading) {
    this.config = config;
    this.reloading = reloading;
    const { maxBuffered, maxMessage } = config.limits;
    BUFFERS.limit = Math.max(maxBuffered, 2 * maxMessage);
    this.log = new Log(config.log.verbose ? "debug" : config.log.level);
  }

  /** Milliseconds that an MCP client has to say which roots it has, where that is configured. */
  get rootsTimeout(): number | undefined {
    return limitsFor("roots/list", this.config.limits.messages).timeout;
  }

  /** For parts that say what goes wrong without knowing of logs. */
  readonly report = (event: string, fields: Record<string, unknown>): void => {
    this.log.warn(event, fields);
  };

  /** A door's options, with the house's limits and its log. */
  withLimits<S>(door: PeerOptions<S>): PeerOptions<S> {
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
