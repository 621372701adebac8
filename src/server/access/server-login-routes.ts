import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { hasScope, mayControl, mayUseAll, OWNER, personOf } from "../../base/principal.ts";
import type { AppContext } from "../../config/app-context.ts";
import { hashToken } from "../../store/access/access-token.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { mayHave } from "../../tool/policy.ts";
import { issuerMetadata } from "../../upstream/oauth/discovery.ts";
import { type LoginCallback, type LogInOptions, logInAt } from "../../upstream/oauth/log-in.ts";
import { OAuthHttp } from "../../upstream/oauth/oauth-http.ts";
import { logInTo, logOutOf, reachLogin } from "../../upstream/open/reach-login.ts";
import { isAddress, isLoginless, isPersonal } from "../../upstream/settings.ts";
import { fail, failWith, readJson, sendJson } from "../http/http-answers.ts";
import type { AdmittedCaller, AccessRefusal } from "./access.ts";
import type { Admission } from "./admission.ts";
import { COMEBACK_PATH, LOGINS_PAGE, LOGINS_PATH } from "./login-page.ts";
import { cookieIn, HOST, type PeerUser, peerUser } from "./browser-logins.ts";
import { hostOf, isLoopbackAddress, isOwnOrigin, type OwnAddress } from "./refuse-foreign.ts";
import type { ServePlan } from "./serving.ts";

export interface ServerLoginRoutesOptions {
  readonly serving: ServePlan;
  readonly own: () => OwnAddress;
  readonly admission: Pick<Admission, "admit" | "logins">;
  readonly offer: Pick<Offer, "profileFor">;
  /** The program with its configuration as it is now. */
  readonly app: () => Promise<AppContext>;
  /** Also gets problems of the configuration. */
  readonly log: Log;
}

/** A browser of a person, known by a cookie. Before the person is known, it has no `admitted`. */
interface BrowserSession {
  readonly key: string;
  readonly until: number;
  /** The owner of the browser's process: processes of other users of this machine may not use its cookie. */
  readonly from: PeerUser;
  /** The person; empty before it is known. */
  readonly person: string;
  admitted?: AdmittedCaller;
}

/** A login at an issuer that was begun. */
interface BegunLogin {
  /** The secret of its link, once there is one: then it waits for a browser. */
  state?: string;
  readonly stop: AbortController;
  /** The browser that began it, and may finish it. */
  readonly by: string;
  /** The person; empty before it is known. */
  readonly person: string;
  came?: (params: URLSearchParams) => void;
  done?: Promise<object>;
}

/** Milliseconds that a browser is known for. */
type Body = Readonly<Record<string, unknown>>;

const GOOD_FOR = 60 * 60_000;
/** Milliseconds that somebody has to say who they are. */
const PATIENCE = 10 * 60_000;
/** Of one person, and of all who have not said who they are: one more ends the oldest of the same. */
const MOST_SESSIONS = 100;
const MOST_BEGUN = 20;
/** Bytes of a body. */
const LARGEST = 16 * 1024;

/**
 * The page on which people log in to MCP servers, in a browser that proves who they are: by an access token,
 * at the gateway's own authorization server, or by the owner's cookie. The login is kept for that person, and
 * only the browser that began one can finish it, so nobody can have another log in for them.
 */
export function serverLoginRoutes(options: ServerLoginRoutesOptions) {
  const { admission, serving, offer, log } = options;
  const { logins } = admission;
  const sessions = new Map<string, BrowserSession>();
  const allBegun = new Set<BegunLogin>();

  function handle(path: string, request: IncomingMessage, response: ServerResponse): void {
    if (request.method === "GET" && (path === LOGINS_PATH || path === COMEBACK_PATH)) {
      return LOGINS_PAGE.send(response, 200);
    }
    if (request.method !== "POST") {
      return fail(response, 405, "Use GET or POST here", { allow: "GET, POST" });
    }
    const answered = answer(path.slice(LOGINS_PATH.length + 1), request, response);
    background(
      answered.catch((error: unknown) => failWith(response, error, path, log)),
      "Answering a login page",
    );
  }

  async function answer(
    what: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const session = sessionOf(request);
    const body = await readJson(request, LARGEST);
    if (what === "sign-in") return signIn(body, request, response);
    const found =
      what === "enter" || session?.admitted === undefined
        ? await admission.admit(request, response)
        : session.admitted;
    // The person is still unknown when the browser returns from the gateway's own authorization server.
    const by = session?.key ?? ("proof" in found ? found.proof?.key : undefined);
    if (what === "finish") return sendJson(response, await finish(body, by));
    const person = "principal" in found ? personOf(found.principal) : undefined;
    if (!("principal" in found) || person === undefined || by === undefined) {
      const { status, message } = found as Partial<AccessRefusal>;
      const issuers = serving.oauth?.authorizationServers ?? [];
      return sendJson(response, { error: message ?? NOBODY, issuers }, {}, status ?? 401);
    }
    switch (what) {
      case "enter": {
        const entered = { ...newSession(person, request), admitted: found };
        return sendJson(response, {}, { "set-cookie": remember(entered, request) });
      }
      case "list":
        return sendJson(response, await list(found, person));
      case "begin":
        return sendJson(response, await begin(nameIn(body), found, person, by, request));
      case "end": {
        const { name, reached } = await reach(nameIn(body), "log out of", found, person);
        await logOutOf(reached);
        return sendJson(response, { done: name });
      }
      default:
        return fail(response, 404, "Nothing is at this path.");
    }
  }

  /** The servers that a person may log in to. */
  async function list({ principal }: AdmittedCaller, person: string): Promise<object> {
    const { config } = await options.app();
    const names = Object.keys(config.mcpServers).filter((name) =>
      mayLogIn(config, name, { principal }),
    );
    const servers = names.map(async (name) => {
      const reached = await reach(name, "log in to", { principal }, person).catch(() => {});
      const { issuer, ended } = (await reached?.reached.store.state()) ?? {};
      const isIn = issuer !== undefined && ended === undefined;
      const state = ended === undefined ? (isIn ? `logged in at ${issuer}` : "no login") : "ended";
      return { name, isIn, state };
    });
    const who = person === personOf(OWNER) ? "the owner" : (principal.name ?? principal.id);
    return { who, servers: await Promise.all(servers) };
  }

  function mayLogIn(
    { mcpServers }: AppContext["config"],
    name: string,
    { principal }: Pick<AdmittedCaller, "principal">,
  ): boolean {
    const settings = Object.hasOwn(mcpServers, name) ? mcpServers[name] : undefined;
    if (settings === undefined || !isAddress(settings)) return false;
    const subject = { door: "http", client: "login page", principal };
    if (offer.profileFor(subject)?.hasServer(name) === false) return false;
    if (!mayControl(principal)) return false;
    if (isLoginless(settings)) return false;
    // A login that everybody shares is for those who may configure servers.
    return isPersonal(settings)
      ? mayHave(principal) ||
          (hasScope(principal, "tools") && principal.limits?.tools !== undefined)
      : mayUseAll(principal);
  }

  async function reach(
    name: string,
    doing: string,
    admitted: Pick<AdmittedCaller, "principal">,
    person: string,
  ) {
    const app = await options.app();
    if (!mayLogIn(app.config, name, admitted)) {
      const why = "no server with that name has logins of yours";
      throw new TrunklineError("not-found", `Cannot ${doing} '${name.slice(0, 100)}': ${why}.`);
    }
    return { name, reached: await reachLogin(app, process.env, name, doing, person) };
  }

  async function begin(
    server: string,
    admitted: AdmittedCaller,
    person: string,
    by: string,
    request: IncomingMessage,
  ): Promise<{ readonly link: string }> {
    const { reached } = await reach(server, "log in to", admitted, person);
    return toIssuer({ by, person }, request, async (show, comeback, signal) => {
      await logInTo(reached, show, signal, comeback);
      return { server, done: `Logged in to ${server}. You can go back to your assistant.` };
    });
  }

  /** Finds out who somebody is, at the authorization server of the gateway itself. */
  async function signIn(
    { index, server }: Body,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const issuer = serving.oauth?.authorizationServers[Number(index)];
    if (serving.oauth === undefined || issuer === undefined) {
      throw new TrunklineError("not-found", "There is no such authorization server.");
    }
    const { resource, scopes, clientId } = serving.oauth;
    const session = newSession("", request);
    const http = new OAuthHttp({ server: new URL(issuer), trustsIssuer: true });
    const settings = { issuer, ...(clientId === undefined ? {} : { clientId }) };
    const link = await toIssuer(
      { by: session.key, person: "" },
      request,
      async (show, comeback, stop) => {
        const found = { issuer: await issuerMetadata(issuer, http), resource, scopes };
        const { accessToken: token } = await logInAt(found, {
          ...{ server: new URL(issuer), settings, headers: {}, wanted: [], http, show, comeback },
          signal: AbortSignal.any([stop, AbortSignal.timeout(PATIENCE)]),
        });
        // The token is used only to find out who has logged in.
        const headers = { authorization: `Bearer ${token}` };
        const asked = { headers, socket: request.socket } as unknown as IncomingMessage;
        const admitted = await admission.admit(asked, response);
        if (!("principal" in admitted)) throw new TrunklineError("untrusted", admitted.message);
        const person = personOf(admitted.principal) ?? "";
        sessions.set(hashToken(session.key), { ...session, person, admitted });
        return { server };
      },
    );
    sendJson(response, link, { "set-cookie": remember(session, request) });
  }

  /** Begins a login at an issuer. Its end is answered when the browser has come back. */
  async function toIssuer(
    whose: Pick<BegunLogin, "by" | "person">,
    request: IncomingMessage,
    work: (
      show: LogInOptions["show"],
      comeback: (state: string) => LoginCallback,
      signal: AbortSignal,
    ) => Promise<object>,
  ): Promise<{ readonly link: string }> {
    const redirectUri = originFor(request) + COMEBACK_PATH;
    makeRoom(whose.person);
    const stop = new AbortController();
    const begun: BegunLogin = { ...whose, stop };
    // Counted before its issuer is asked anything, which may take long.
    allBegun.add(begun);
    const shown = Promise.withResolvers<{ readonly link: string }>();
    const comeback = (state: string): LoginCallback => {
      const came = Promise.withResolvers<URLSearchParams>();
      Object.assign(begun, { state, came: came.resolve });
      return { redirectUri, came: came.promise, [Symbol.asyncDispose]: async () => {} };
    };
    const done = work(({ link }) => shown.resolve({ link }), comeback, stop.signal);
    begun.done = done.finally(() => allBegun.delete(begun));
    begun.done.catch((error: Error) => shown.reject(error));
    return await shown.promise;
  }

  /** Ends the oldest login of a person that waits for a browser, where there are too many. */
  function makeRoom(whose: string): void {
    const others = [...allBegun].filter(({ person }) => person === whose);
    if (others.length < MOST_BEGUN) return;
    const oldest = others.find(({ state }) => state !== undefined);
    if (oldest === undefined) {
      const why = `${MOST_BEGUN} logins are being begun already`;
      throw new TrunklineError("limit", `Cannot begin a login: ${why}. Wait, then try again.`);
    }
    allBegun.delete(oldest);
    oldest.stop.abort(new Error("others have begun since"));
  }

  async function finish({ search }: Body, by?: string): Promise<object> {
    const params = new URLSearchParams(typeof search === "string" ? search : "");
    const state = params.get("state") ?? "";
    const begun = [...allBegun].find((each) => each.state === state);
    if (begun?.came === undefined || begun.by !== by) {
      const why =
        "This browser has not begun this login, or it took too long, or too many others were begun";
      throw new TrunklineError("untrusted", `${why}. Begin again on the page with your logins.`);
    }
    begun.came(params);
    return (await begun.done) ?? {};
  }

  function remember(session: BrowserSession, request: IncomingMessage): string {
    for (const [hash, { until }] of sessions) {
      if (until <= Date.now()) sessions.delete(hash);
    }
    const others = [...sessions].filter(([, { person }]) => person === session.person);
    if (others.length >= MOST_SESSIONS) sessions.delete(others[0]?.[0] ?? "");
    sessions.set(hashToken(session.key), session);
    return logins.cookie(request, cookieName(), session.key, GOOD_FOR);
  }

  function sessionOf(request: IncomingMessage): BrowserSession | undefined {
    if (!logins.isOfOwnPage(request)) return undefined;
    // With a cookie that another host has set, a person would log in for somebody else.
    const name = logins.isSecure(request) ? HOST + cookieName() : cookieName();
    const session = sessions.get(hashToken(cookieIn(request, name) ?? ""));
    if (session === undefined || session.until <= Date.now()) return undefined;
    const isLive = session.admitted?.proof?.isLive() !== false;
    return isLive && session.from === peerUser(request.socket) ? session : undefined;
  }

  /** RFC 6265, section 8.5: cookies are not isolated by port. */
  function cookieName(): string {
    return `trunkline_person_${options.own().port}`;
  }

  /**
   * The address under which the browser reaches us, which its cookie is for. Whoever asks chooses `Host`, and
   * what the issuer sends back with a browser must come to nobody else.
   */
  function originFor({ headers: { host = "" }, socket }: IncomingMessage): string {
    const { publicUrl, proxied } = serving;
    if (publicUrl !== undefined && new URL(publicUrl).host === host) return publicUrl;
    const own = options.own();
    const origin = `${own.scheme}://${host}`;
    const name = hostOf(host) ?? "";
    const at = socket.localAddress?.replace(/^::ffff:/, "") ?? "";
    const isHere = name === at || (name === "localhost" && isLoopbackAddress(at));
    const isOurs = (isHere || proxied.has(name)) && isOwnOrigin(origin, host, own);
    if (isOurs || proxied.has(host)) return origin;
    const next =
      "Open the page by the address that `trunkline serve` prints, or set `serve.publicUrl`";
    const says = `Cannot log in at '${host}': it may be another's. ${next}.`;
    throw new TrunklineError("untrusted", says);
  }

  return { handle };
}

function newSession(person: string, { socket }: IncomingMessage): BrowserSession {
  const key = randomBytes(32).toString("base64url");
  return { key, until: Date.now() + GOOD_FOR, from: peerUser(socket), person };
}

const NOBODY = "This gateway cannot tell who you are. Send an access token.";

function nameIn({ server }: Body): string {
  if (typeof server === "string") return server;
  throw new TrunklineError("usage", `Send {"server": "…"}`);
}
