import { toolPolicy } from "../../config/tool-policy.ts";
import type { Capability } from "../../base/capability/capability.ts";
import { CAPABILITIES } from "../../config/capabilities.ts";
import { lazyBus } from "../bus/lazy-bus.ts";
import type { AppContext } from "../../config/app-context.ts";
import { repositoryAddresses } from "../../git/repository-addresses.ts";
import { openAudit, repositoryOf } from "./toolbox-parts.ts";
import { profilesOf } from "../../config/profiles-of.ts";
import { type ConfiguredOffer, openOffer } from "../../upstream/open/upstreams.ts";
import type { Approvals } from "../../store/approval/approvals.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";
import type { Approver } from "../../tool/tool-registry.ts";
import type { ToolDefinition } from "../../tool/tool.ts";

export interface OpenToolsOptions {
  /** Follows changes of the configuration for as long as it is open. */
  readonly isLasting?: boolean;
  /** Leaves the plugins to a bus that others can reach, too. */
  readonly hasOwnBus?: boolean;
  /** Serves programs of any project, and not only of the one that it runs in. */
  readonly isShared?: boolean;
  /** Clients may name a profile, also where the configuration has none. */
  readonly hasProfiles?: boolean;
  /** Opens the approvals also where no server is configured whose tools could need one. */
  readonly needsApprovals?: boolean;
}

export interface OpenedTools
  extends Pick<ConfiguredOffer, "offer" | "started" | "status" | "restart">, AsyncDisposable {
  /** Undefined where there is nothing to approve. */
  readonly approvals: Approvals | undefined;
}

/**
 * The offer of all doors: the policy decides on each call, the audit has each, and a tool of another
 * server is held when it differs from what was approved.
 */
export async function openTools(
  app: AppContext,
  options: OpenToolsOptions = {},
): Promise<OpenedTools> {
  const { config, report } = app;
  const { data, policy } = config;
  const { isLasting = false, needsApprovals = false } = options;
  const { hasOwnBus = false } = options;
  const reloading = isLasting ? app.reloading : undefined;
  await using opening = new AsyncDisposableStack();
  // `trunkline mcp` waits for this before its first answer: load nothing that may not be needed.
  const audit = opening.use(openAudit(app));
  opening.defer(() => app.observers?.flush());
  const approver = opening.use(
    new LazyApprover(async () => {
      const { Approvals } = await import("../../store/approval/approvals.ts");
      return Approvals.open(data, { mode: policy.tools.approve, report });
    }),
  );
  if (needsApprovals) await approver.ready();
  const offer = new Offer({
    policy: new Policy(toolPolicy(config)),
    audit,
    observer: app.observers?.calls,
    report,
    approver,
    repositoryOf,
    addressesOf: repositoryAddresses,
  });
  const opensProfiles = options.hasProfiles === true || options.isShared === true;
  if (opensProfiles || Object.keys(config.profiles).length > 0) {
    offer.profiles = await profilesOf(config);
  }
  // Our tools come first: a tool of another server with the same name is renamed.
  const folder = options.isShared === true ? undefined : process.cwd();
  const capabilities: readonly Capability<AppContext, Offer>[] = CAPABILITIES;
  for (const capability of capabilities) opening.use(capability.offer?.(app, offer, { folder }));
  const opened = opening.use(
    await openOffer(app, {
      offer,
      beforeUpstreams: () => approver.ready(),
      ...(reloading === undefined ? {} : { reloading }),
    }),
  );
  if (!hasOwnBus) opening.use(lazyBus(app, opened.offer, reloading));
  const open = opening.move();
  return {
    offer: opened.offer,
    get approvals() {
      return approver.approvals;
    },
    started: () => opened.started(),
    status: () => opened.status(),
    restart: (name) => opened.restart(name),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/**
 * Approvals of other servers' tools, loaded by `open` before the first such server is configured.
 */
export class LazyApprover implements Approver, AsyncDisposable {
  readonly #load: () => Promise<Approvals>;
  readonly #listeners = new Set<() => void>();
  approvals: Approvals | undefined;

  constructor(load: () => Promise<Approvals>) {
    this.#load = load;
  }

  async ready(): Promise<void> {
    if (this.approvals !== undefined) return;
    this.approvals = await this.#load();
    this.approvals.onChange(() => {
      for (const listener of this.#listeners) listener();
    });
  }

  judge(server: string, definition: ToolDefinition): "approved" | "held" {
    return this.approvals?.judge(server, definition) ?? "held";
  }

  why(server: string, name: string): "new" | "changed" {
    return this.approvals?.why(server, name) ?? "new";
  }

  vouches(server: string, definition: ToolDefinition): boolean {
    return this.approvals?.vouches(server, definition) ?? false;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.approvals?.[Symbol.asyncDispose]();
  }
}
