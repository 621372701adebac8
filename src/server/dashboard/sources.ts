import type { ConfiguredBus } from "../../plugin/open/configured-bus.ts";
import type { ConfigInput } from "../../config/config.ts";
import type { FleetView } from "./view/fleet-view.ts";
import type { OpenedOffer } from "../../upstream/open/upstreams.ts";
import type { Approvals } from "../../store/approval/approvals.ts";

/** What the dashboard shows of the running server, beside its sessions. */
export interface DashboardSources {
  readonly tools: Pick<OpenedOffer, "offer" | "status" | "restart"> & {
    /** Undefined where there is nothing to approve. */
    readonly approvals: Approvals | undefined;
  };
  readonly bus: Pick<ConfiguredBus, "opened">;
  /** The fleet that the server belongs to. */
  readonly fleet?: Pick<FleetView, "state" | "counts" | "poolFor"> | undefined;
  /** How the configuration was found, to change it as `trunkline config set` does. */
  readonly input: ConfigInput;
  /** What a person types to run Trunkline here, so that it uses the same files. */
  readonly program?: string | undefined;
}
