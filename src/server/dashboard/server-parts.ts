import { mayUseAll } from "../../base/principal.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { followConfig } from "../../config/follow-config.ts";
import type { DashboardOptions } from "./dashboard.ts";
import { type LiveSource, PolledRows } from "./live/polled-rows.ts";
import { type ApiRoute, route } from "../../base/api-route.ts";
import type { SessionRows } from "./session/session-rows.ts";
import { auditRoutes } from "./view/audit-search.ts";
import { CallStatistics } from "./view/call-statistics.ts";
import { identityRoutes } from "./view/identities.ts";
import { notificationRoutes } from "./view/notifications.ts";
import { fleetRoutes } from "./view/fleet.ts";
import { type OverviewOptions, readOverview } from "./view/overview.ts";
import { Services } from "./view/services.ts";
import type { Threads } from "./view/threads.ts";
import { tokenRoutes } from "./view/tokens.ts";
import { Tools } from "./view/tools.ts";

/** What the dashboard shows of the server itself: tools, servers, plugins, audit, tokens, identities. */
export class ServerParts {
  readonly routes: readonly ApiRoute[];
  readonly live: readonly LiveSource[];

  constructor(
    options: DashboardOptions,
    sessions: SessionRows,
    threads: Threads,
    ends: DisposableStack,
  ) {
    const { house, sources } = options;
    const { data } = house.config;
    let { config } = house;
    ends.defer(
      followConfig(house.reloading, house.log, (changed) => {
        config = { ...config, ...changed };
      }),
    );
    const services =
      sources === undefined ? undefined : new Services(sources, () => config.mcpServers);
    const tools = sources === undefined ? undefined : new Tools(sources, new CallStatistics(data));
    const overview: OverviewOptions = {
      ...options,
      sessions,
      data,
      config: () => config,
      threads: (principal) => threads.count(principal),
      approvals: () => tools?.approvals().length ?? 0,
    };
    this.routes = [
      route("GET /api/overview", "nothing", ({ principal }) => readOverview(overview, principal)),
      ...(tools?.routes ?? []),
      ...(services?.routes ?? []),
      ...(sources?.fleet === undefined ? [] : fleetRoutes(sources.fleet)),
      ...auditRoutes(data),
      ...notificationRoutes(data),
      ...tokenRoutes(new AccessTokens(data)),
      ...identityRoutes(house, sessions.reader),
    ];
    const started = new PolledRows({
      event: "overview",
      every: 1_000,
      // The time since the start would make each one another.
      read: async () => new Map([["", { ...(await readOverview(overview)), uptimeSeconds: 0 }]]),
      isFor: mayUseAll,
    });
    this.live = [started, ...(tools?.live ?? []), ...(services?.live ?? [])];
  }
}
