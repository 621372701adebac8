import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Log } from "../../src/base/log.ts";
import { McpDoor } from "../../src/protocol/mcp/serve/door.ts";
import { Offer } from "../../src/tool/offer/offer.ts";
import type { OpenLink } from "../../src/upstream/link.ts";
import type { UpstreamLimits } from "../../src/upstream/settings.ts";
import { Upstreams, type UpstreamTable } from "../../src/upstream/upstreams.ts";

export interface AppWithUpstreamsOptions {
  readonly open?: OpenLink;
  readonly limits?: Partial<UpstreamLimits>;
  /** A folder that outlives this one, to start a second time from. */
  readonly folder?: string;
  /** What they offer to; an empty offer when left out. */
  readonly offer?: Offer;
}

/** Upstreams behind a door, in a folder of their own. */
export class AppWithUpstreams implements AsyncDisposable {
  readonly offer: Offer;
  readonly door: McpDoor;
  readonly upstreams: Upstreams;
  readonly folder: string;
  /** Lines of the log. */
  readonly log: string[] = [];
  readonly #isOwnFolder: boolean;

  constructor(options: AppWithUpstreamsOptions = {}) {
    this.offer = options.offer ?? new Offer();
    this.door = new McpDoor({ offer: this.offer });
    this.#isOwnFolder = options.folder === undefined;
    this.folder = options.folder ?? mkdtempSync(join(tmpdir(), "trunkline-upstreams-"));
    this.upstreams = new Upstreams({
      offer: this.offer,
      folder: this.folder,
      log: new Log("debug", (line) => this.log.push(line)),
      ...(options.open === undefined ? {} : { open: options.open }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    });
  }

  /** Configures, and waits until it is known what is offered. */
  async configure(table: UpstreamTable): Promise<this> {
    await this.upstreams.configure(table);
    await this.upstreams.known();
    return this;
  }

  get toolNames(): string[] {
    return this.offer.tools.list().map(({ definition }) => definition.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.upstreams[Symbol.asyncDispose]();
    if (this.#isOwnFolder) rmSync(this.folder, { recursive: true });
  }
}
