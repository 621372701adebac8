import { setTimeout as sleep } from "node:timers/promises";

import { background } from "../../base/background.ts";
import { isObject } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import {
  isAskedInRounds,
  passQuestion,
  URL_ELICITATION_REQUIRED,
} from "../../protocol/mcp/connect/questions.ts";
import { Names } from "../../tool/offer/names.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { PublishedEntries } from "../../tool/offer/published-entries.ts";
import { textResult, type Tool, type ToolContext, ToolFault } from "../../tool/tool.ts";
import type { HttpAuthorization } from "../http/http-exchange.ts";
import { loginCommand } from "../oauth/login-tokens.ts";
import type { OpenLink } from "../link.ts";
import type { AddressSettings } from "../settings.ts";
import type { Upstream } from "../upstream.ts";
import { Upstreams, type UpstreamsOptions, type UpstreamTable } from "../upstreams.ts";

/** The tokens of one person for one server. */
export interface PersonAuthorization extends HttpAuthorization {
  /** Why the server refuses them until the person has logged in. */
  refusal(): Promise<string | undefined>;
}

export interface PersonServersOptions extends Pick<UpstreamsOptions, "log" | "channelLimits"> {
  readonly principal: Principal & { readonly person: string };
  readonly offer: Offer;
  /** Where the lists of this person's servers are remembered. */
  readonly folder: string;
  /** Opens connections with these tokens. */
  readonly connect: (tokens: TokensFor) => OpenLink;
  /** The tokens of this person. */
  readonly tokensOf: (name: string, settings: AddressSettings) => Promise<PersonAuthorization>;
  /** Called when they have not been used for a while. */
  readonly unused: () => void;
}

/** The tokens for requests to a server, whose references are resolved. */
export type TokensFor = (name: string, settings: AddressSettings) => Promise<HttpAuthorization>;

/** Milliseconds between two looks whether somebody has logged in, and for which a call waits for that. */
const LOOK_EVERY = 300;
const PATIENCE = 5 * 60_000;
/** Milliseconds without a call or a list after which connections end. */
const IDLE = 30 * 60_000;

/**
 * The servers that one person uses as themselves. Connections, lists, remembered catalogues, addresses and
 * tools are this person's: nothing here is looked up by a name alone that another person has, too.
 */
export class PersonServers implements AsyncDisposable {
  readonly upstreams: Upstreams;
  readonly #options: PersonServersOptions;
  readonly #tokens = new Map<
    string,
    { readonly of: string; readonly tokens: PersonAuthorization }
  >();
  /** By server: resolves to true when the person has logged in, to false if that takes too long. */
  readonly #logins = new Map<string, Promise<boolean>>();
  /** Tools that log in, for servers that list no tools before a login. */
  readonly #ways: PublishedEntries<Tool>;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #names: readonly string[] = [];

  constructor(options: PersonServersOptions) {
    const { offer, log, folder, channelLimits, principal, connect, unused } = options;
    this.#options = options;
    this.#ways = new PublishedEntries((_, tool) => offer.tools.add(tool));
    this.upstreams = new Upstreams({
      ...{ offer, log, folder, principal, channelLimits },
      open: connect((name, settings) => this.#usable(name, settings)),
      gate: (server, context, work) => this.#loggedIn(server, context, work),
    });
    this.#timer = setInterval(() => {
      const isBusy = this.upstreams.status().some(({ callsInFlight }) => callsInFlight > 0);
      if (!isBusy) unused();
    }, IDLE).unref();
  }

  async configure(table: UpstreamTable): Promise<void> {
    this.#names = Object.keys(table);
    await this.upstreams.configure(table);
  }

  /** Await it before a list of this person is answered. */
  async known(): Promise<void> {
    this.#timer.refresh();
    await this.upstreams.known();
    await this.#offerWays();
  }

  /** Called when the person may have logged in or out. */
  async wake(): Promise<void> {
    this.upstreams.wake();
    await this.upstreams.started();
    await this.#offerWays();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort(new Error("The servers of this person are closed"));
    this.#ways.replace([]);
    await this.upstreams[Symbol.asyncDispose]();
  }

  /** Runs work for a caller, who is first asked to log in if that is needed. */
  async #loggedIn<T>(server: string, context: ToolContext, work: () => Promise<T>): Promise<T> {
    this.#timer.refresh();
    const upstream = this.upstreams.get(server);
    // First of all, because without a login there is no connection.
    await upstream?.arrival();
    if (!isUp(upstream) && (await this.#needsPerson(server))) {
      await this.#ask(server, context);
      upstream?.wake();
      await upstream?.arrival();
      background(this.#offerWays(), "Listing the tools of a server");
    }
    try {
      return await work();
    } catch (error) {
      // The server has refused the call, so it can be repeated.
      if (!isRefusal(error) || !(await this.#needsPerson(server))) throw error;
      await this.#ask(server, context);
      return await work();
    }
  }

  /** The tokens for a new connection. Nothing is sent while the person has to log in first. */
  async #usable(name: string, settings: AddressSettings): Promise<PersonAuthorization> {
    const of = JSON.stringify([settings.url, settings.oauth, settings.login]);
    const known = this.#tokens.get(name);
    const tokens = known?.of === of ? known.tokens : await this.#options.tokensOf(name, settings);
    this.#tokens.set(name, { of, tokens });
    const why = await tokens.refusal();
    if (why === undefined) return tokens;
    throw new TrunklineError("unavailable", `${new URL(settings.url).origin} ${why}`);
  }

  async #needsPerson(server: string): Promise<boolean> {
    return (await this.#tokens.get(server)?.tokens.refusal()) !== undefined;
  }

  /**
   * Asks the caller's person to log in, on our own page: it checks who opens it, which the issuer's cannot.
   * Returns once they have.
   */
  async #ask(server: string, context: ToolContext): Promise<void> {
    const url = this.#options.offer.loginPage?.(server);
    const run = `\`${loginCommand(server)}\``;
    // Only the owner has a terminal here.
    const orRun = this.#options.principal.person === OWNER.id ? `, or run ${run}` : "";
    const next = url === undefined ? `Run ${run}` : `Open ${url}${orRun}`;
    const words = `MCP server '${server}' wants to know who you are. ${next}, log in, then repeat this.`;
    const refusal = new TrunklineError("unavailable", words);
    const message = `Log in to '${server}' as yourself.`;
    const page = { mode: "url", message, ...(url === undefined ? {} : { url }) };
    const question = { method: "elicitation/create", params: page };
    if (url === undefined || !context.canAsk(question)) throw refusal;
    const login = this.#login(server);
    if (isAskedInRounds(context)) {
      const answer = await passQuestion(context, question);
      if (!isObject(answer) || answer.action !== "accept" || !(await login)) throw refusal;
      return;
    }
    // MCP 2025-11-25, client/elicitation § URL Elicitation Required Error: the client calls again.
    const elicitationId = crypto.randomUUID();
    background(
      login.then((is) => (is ? context.pageDone?.(elicitationId) : undefined)),
      "Telling a client that its person has logged in",
    );
    throw new ToolFault(URL_ELICITATION_REQUIRED, message, {
      elicitations: [{ ...page, elicitationId }],
    });
  }

  /** Several calls may wait for one login. */
  #login(server: string): Promise<boolean> {
    return this.#logins.getOrInsertComputed(server, async () => {
      const until = performance.now() + PATIENCE;
      using ends = new DisposableStack();
      ends.defer(() => this.#logins.delete(server));
      while (await this.#needsPerson(server)) {
        if (performance.now() > until || this.#stop.signal.aborted) return false;
        await sleep(LOOK_EVERY, undefined, { ref: false });
      }
      return true;
    });
  }

  /** Offers a tool that logs in, for each server whose own tools are not known before. */
  async #offerWays(): Promise<void> {
    const { offer, principal } = this.#options;
    const wanted: string[] = [];
    for (const name of this.#names) {
      const isUnknown = this.upstreams.get(name)?.catalogue === undefined;
      if (isUnknown && (await this.#needsPerson(name))) wanted.push(name);
    }
    if (this.#stop.signal.aborted) return;
    const names = new Names((name) => {
      return offer.tools.get(name, undefined, principal) !== undefined && !this.#ways.has(name);
    });
    this.#ways.replace(
      wanted.map((server) => {
        const name = names.give(server, `log_in_to_${server.replaceAll(/[^A-Za-z0-9_.-]/g, "_")}`);
        return { name, key: server, make: () => this.#wayTo(server, name) };
      }),
    );
  }

  #wayTo(server: string, name: string): Tool {
    const description = `Logs the person in to '${server}', which shows its tools after that only.`;
    const done = `The person is logged in to '${server}'. Its tools are in the list now.`;
    return {
      definition: { name, description, inputSchema: { type: "object" } },
      bringer: server,
      person: this.#options.principal.person,
      call: (_, context) => this.#loggedIn(server, context, async () => textResult(done)),
    };
  }
}

function isUp(upstream: Upstream | undefined): boolean {
  return upstream?.status().state === "up";
}

/** Whether a server has refused the token. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ToolFault) || !isObject(error.data)) return false;
  return error.data.status === 401 || error.data.status === 403;
}
