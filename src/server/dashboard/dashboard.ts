import { Semaphore } from "../../base/limit/semaphore.ts";
import { tooMany } from "./view/audit-search.ts";
import type { IncomingMessage, ServerResponse } from "node:http";

import { background } from "../../base/background.ts";
import type { Log } from "../../base/log.ts";
import { accessTokenOf, hasScope, mayUseAll, type Principal } from "../../base/principal.ts";
import { VERSION } from "../../base/version.ts";
import type { AcpConnection } from "../../protocol/acp/connection.ts";
import type { AcpDoor } from "../../protocol/acp/door.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import type { SessionReading } from "../../store/session/session-reader.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import type { House } from "../../config/house.ts";
import { agentIdentityName } from "../../identity/open/open-identities.ts";
import { scopesOf } from "./access-rules.ts";
import type { Me } from "./api.ts";
import { LiveRows } from "./live/live-rows.ts";
import { LiveStream, placeOf, type Tail } from "./live/live-stream.ts";
import { Watching } from "./live/watching.ts";
import { type ApiCall, type ApiRoute, Router } from "./router.ts";
import { SessionClients } from "./session/session-clients.ts";
import { SessionRoutes } from "./session/session-routes.ts";
import { SessionRows } from "./session/session-rows.ts";
import { SessionSource } from "./session/session-source.ts";
import type { DashboardSources } from "./sources.ts";
import type { TrafficRing } from "./traffic/traffic-ring.ts";
import { ServerParts } from "./server-parts.ts";
import { Runs } from "./view/runs.ts";
import { Threads } from "./view/threads.ts";
import { Troubles } from "./view/troubles.ts";

export interface DashboardOptions {
  readonly house: House;
  readonly door: AcpDoor;
  readonly peer: PeerOptions<AcpConnection>;
  /** The sessions, which end with the dashboard. */
  readonly reader: () => Promise<SessionReading>;
  /** The id under which this process holds sessions. */
  readonly holder: string;
  /** Undefined where the server has none of it: then it is not shown. */
  readonly sources?: DashboardSources | undefined;
  /** The last messages of clients and agents. */
  readonly traffic: TrafficRing;
  /** The URL by which others reach the server. */
  readonly origin: () => string;
  readonly uptimeSeconds: () => number;
  /** Assistants that are connected to /mcp now. */
  readonly assistants: () => number;
}

/** Live streams of one principal: some for each of its pages. */
const MOST_STREAMS = 32;

/** The server side of the dashboard: its JSON API and its live events. */
export class Dashboard implements AsyncDisposable {
  readonly #live = new LiveRows();
  readonly #troubles = new Troubles(this.#live);
  readonly #reader: SessionReading;
  readonly #rows: SessionRows;
  readonly #clients: SessionClients;
  readonly #sessions: SessionRoutes;
  readonly #source: SessionSource;
  readonly #watching: Watching;
  readonly routes: readonly ApiRoute[];
  readonly #router: Router;
  readonly #streams = new Set<LiveStream>();
  readonly #shares = new Semaphore({
    ...{ runningEach: MOST_STREAMS, waitingEach: 0 },
    refusal: () => tooMany("live streams", MOST_STREAMS),
  });
  readonly #log: Log;
  readonly #fleet: DashboardSources["fleet"];
  readonly #program: DashboardSources["program"];
  readonly #ends: DisposableStack;

  private constructor(
    options: DashboardOptions,
    rows: SessionRows,
    threads: Threads,
    ends: DisposableStack,
  ) {
    const { house, door, peer } = options;
    const { data } = house.config;
    this.#ends = ends;
    this.#reader = rows.reader;
    this.#rows = rows;
    const runs = new Runs(data, rows);
    this.#source = new SessionSource(rows, (session) => runs.row(session));
    this.#clients = new SessionClients({
      door,
      peer,
      changed: (session) => this.#source.wake(session),
    });
    this.#sessions = new SessionRoutes({
      rows: this.#rows,
      clients: this.#clients,
      data,
      traffic: options.traffic,
      failed: (session, error) =>
        this.#troubles.add(`A prompt in session ${session} failed`, error),
    });
    const parts = new ServerParts(options, rows, threads, ends);
    this.#watching = new Watching({
      rows: this.#live,
      sources: [this.#source, threads.source, ...parts.live],
      failed: (error) => this.#troubles.add("The dashboard cannot see what changes", error),
    });
    const routes = [this.#sessions, runs, threads, parts].flatMap((part) => part.routes);
    this.#log = house.log;
    this.#fleet = options.sources?.fleet;
    this.#program = options.sources?.program;
    this.routes = [...this.#ownRoutes(), ...routes];
    this.#router = new Router(this.routes, house.log);
  }

  static async open(options: DashboardOptions): Promise<Dashboard> {
    using ends = new DisposableStack();
    const { data } = options.house.config;
    const reader = ends.use(await options.reader());
    const tokens = new AccessTokens(data);
    const rows = new SessionRows({
      reader,
      holder: () => options.holder,
      nameOf: (owner) => nameIn(tokens, owner),
      identityOf: (agent, cwd) => agentIdentityName(options.house, agent, cwd),
    });
    const threads = ends.use(await Threads.open(data, rows));
    return new Dashboard(options, rows, threads, ends.move());
  }

  handle(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
    this.#router.handle(path, request, response, principal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of this.#streams) stream.end();
    this.#watching[Symbol.dispose]();
    await this.#clients[Symbol.asyncDispose]();
    this.#ends.dispose();
  }

  #ownRoutes(): ApiRoute[] {
    return [
      {
        method: "GET",
        path: "/api/me",
        needs: "nothing",
        handle: async ({ principal }) => this.#me(principal),
      },
      {
        method: "GET",
        path: "/api/events",
        needs: "nothing",
        handle: (call) => this.#stream(call),
      },
    ];
  }

  #me(principal: Principal): Me {
    const { id, name = id === "" ? "owner" : id } = principal;
    const fleet = this.#fleet?.poolFor(principal);
    return {
      name,
      scopes: scopesOf(principal),
      version: VERSION,
      epoch: this.#live.epoch,
      ...(fleet === undefined ? {} : { fleet }),
      ...(mayUseAll(principal) && this.#program !== undefined ? { program: this.#program } : {}),
    };
  }

  async #stream({ principal, request, response, query }: ApiCall): Promise<undefined> {
    const id = query.get("session");
    using ends = new DisposableStack();
    ends.use(await this.#shares.enter({ key: principal.id }));
    const tail = id === null ? undefined : await this.#tailOf(principal, id, ends);
    ends.use(await this.#watching.enter());
    const options = { rows: this.#live, principal, tail, place: placeOf(request, query) };
    const stream = new LiveStream(response, options);
    this.#streams.add(stream);
    const kept = ends.move();
    const failed = (error: unknown): void => this.#log.warn("dashboard.stream-failed", { error });
    const over = stream.run().catch(failed);
    const ended = over.finally(() => {
      this.#streams.delete(stream);
      kept.dispose();
    });
    background(ended, "Sending live events");
  }

  async #tailOf(principal: Principal, id: string, ends: DisposableStack): Promise<Tail> {
    const session = await this.#rows.need(principal, id);
    // Joined, so that questions to clients arrive; looking at a session does not open it.
    if (session.holder !== undefined && hasScope(principal, "sessions")) {
      await this.#clients.at(principal, session).catch(() => undefined);
      ends.use(this.#clients.watch(principal, id));
    }
    const now = async () => (await this.#reader.find(id)) ?? { ...session, holder: undefined };
    return {
      session: id,
      read: async (from) => this.#sessions.read(await now(), from),
      asks: async () => this.#sessions.asks(principal, await now()),
      listen: (listener) => this.#source.listen(id, listener),
    };
  }
}

/** How the bearer of a token is called; others go by their id. */
function nameIn(tokens: AccessTokens, owner: string): string {
  const id = accessTokenOf({ id: owner });
  return tokens.list().find((token) => token.id === id)?.name ?? owner;
}
