import { toolPolicy } from "../../config/tool-policy.ts";
import { lazyBus } from "../bus/lazy-bus.ts";
import type { House } from "../../config/house.ts";
import { offerIdentities } from "../../identity/open/identities-offer.ts";
import { LazyApprover } from "./lazy-approver.ts";
import { repositoryAddresses } from "../../git/repository-addresses.ts";
import { openAudit, repositoryOf } from "./toolbox-parts.ts";
import { profilesOf } from "../../config/profiles-of.ts";
import { ReviewsOffer } from "../../review/open/reviews-offer.ts";
import { type OpenedOffer, openOffer } from "../../upstream/open/upstreams.ts";
import type { Approvals } from "../../store/approval/approvals.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";

export interface OpenToolsOptions {
  /** Follows changes of the configuration for as long as it is open. */
  readonly isLasting?: boolean;
  /** Offers what servers offered at the last start, for as long as nothing has changed. */
  readonly mayRemember?: boolean;
  /** Leaves the plugins to a bus that others can reach, too. */
  readonly hasOwnBus?: boolean;
  /** Serves programs of any project, and not only of the one that it runs in. */
  readonly isShared?: boolean;
  /** Clients may name a profile, also where the configuration has none. */
  readonly hasProfiles?: boolean;
  /** Opens the approvals also where no server is configured whose tools could need one. */
  readonly needsApprovals?: boolean;
}

export interface OpenedTools extends OpenedOffer {
  /** Undefined where there is nothing to approve. */
  readonly approvals: Approvals | undefined;
}

/**
 * The offer of all doors: the policy decides on each call, the audit has each, and a tool of another
 * server is held when it differs from what was approved.
 */
export async function openTools(
  house: House,
  options: OpenToolsOptions = {},
): Promise<OpenedTools> {
  const { config, report } = house;
  const { data, policy } = config;
  const { isLasting = false, mayRemember = false, needsApprovals = false } = options;
  const { hasOwnBus = false } = options;
  const reloading = isLasting ? house.reloading : undefined;
  await using opening = new AsyncDisposableStack();
  // `trunkline mcp` waits for this before its first answer: load nothing that may not be needed.
  const audit = opening.use(openAudit(house));
  opening.defer(() => house.observers?.flush());
  const approver = opening.use(
    new LazyApprover(async () => {
      const { Approvals } = await import("../../store/approval/approvals.ts");
      return Approvals.open(data, { mode: policy.tools.approve, report });
    }),
  );
  if (needsApprovals) await approver.open();
  const offer = new Offer({
    policy: new Policy(toolPolicy(config)),
    audit,
    observer: house.observers?.calls,
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
  opening.use(new ReviewsOffer(house, offer, { folder }));
  offerIdentities(house, offer);
  const opened = opening.use(
    await openOffer(house, {
      offer,
      beforeUpstreams: () => approver.open(),
      ...(mayRemember ? { beforeRemembered: () => approver.trust() } : {}),
      ...(reloading === undefined ? {} : { reloading }),
    }),
  );
  if (!hasOwnBus) opening.use(lazyBus(house, opened.offer, reloading));
  const open = opening.move();
  return {
    offer: opened.offer,
    get approvals() {
      return approver.approvals;
    },
    known: () => opened.offer.known(),
    started: () => opened.started(),
    status: () => opened.status(),
    restart: (name) => opened.restart(name),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
