import type { ConfiguredBus } from "../../plugin/open/configured-bus.ts";
import type { Config, ConfigInput } from "../../config/config.ts";
import type { FleetView } from "./view/fleet-view.ts";
import type { ConfiguredOffer } from "../../upstream/open/upstreams.ts";
import type { Tool } from "../../tool/tool.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Approvals } from "../../store/approval/approvals.ts";

/** The result of starting one server alone. */
export interface ServerTest {
  readonly status: UpstreamStatus | undefined;
  readonly works: boolean;
  /** Why it does not work. */
  readonly why: string;
  readonly milliseconds: number;
  readonly offered: readonly Tool["definition"][];
  readonly held: readonly Tool["definition"][];
}

/** The sources of what the dashboard shows beside sessions. */
export interface DashboardSources {
  readonly tools: Pick<ConfiguredOffer, "offer" | "status" | "restart"> & {
    /** Undefined where there is nothing to approve. */
    readonly approvals: Approvals | undefined;
  };
  readonly bus: Pick<ConfiguredBus, "opened">;
  /** The fleet that the server belongs to. */
  readonly fleet?:
    | Pick<FleetView, "state" | "counts" | "poolFor" | "problem" | "readRun">
    | undefined;
  /** How the configuration was found, to change it as `trunkline config set` does. */
  readonly input: ConfigInput;
  /** Starts a configured server alone, and says what that came to. */
  readonly testServer: (config: Config, name: string) => Promise<ServerTest>;
  /** The words that a person types to run Trunkline here, so that it uses the same files. */
  readonly program?: string | undefined;
}
