import type { Log } from "../../base/log.ts";
import { progressUpdate } from "../run-agent.ts";
import type { SessionUpdate } from "../../session/agent.ts";

/** The most hosts that are reported: a program could invent any number of names. */
const MOST = 20;
const LONGEST = 300;

/** Reports the connections that a sandbox refuses, in the log and in the session, once for each host. */
export class RefusedHosts {
  readonly #log: Log;
  readonly #workspace: string;
  readonly #told = new Set<string>();
  readonly #waiting: SessionUpdate[] = [];
  #update: ((update: SessionUpdate) => void) | undefined;

  constructor(log: Log, workspace: string) {
    this.#log = log;
    this.#workspace = workspace;
  }

  /** Sets the session, and reports earlier refusals to it. */
  tellTo(update: (update: SessionUpdate) => void): void {
    this.#update = update;
    for (const each of this.#waiting.splice(0)) update(each);
  }

  /** `why` contains the host, and the setting that would allow it. */
  readonly refused = (host: string, why: string): void => {
    if (this.#told.has(host) || this.#told.size >= MOST) return;
    this.#told.add(host);
    this.#log.warn("run.egress-refused", { workspace: this.#workspace, host, why });
    const update = progressUpdate(`A connection was refused: ${why.slice(0, LONGEST)}.`);
    if (this.#update === undefined) this.#waiting.push(update);
    else this.#update(update);
  };
}
