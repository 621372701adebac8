import type { IncomingMessage } from "node:http";

import { attempt } from "../../base/attempt.ts";
import { background } from "../../base/background.ts";
import { hasScope, type Principal, type Scope, scopeRefusal } from "../../base/principal.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { Devices } from "../../store/access/devices.ts";
import { LoginCodes } from "../../store/access/login-codes.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import type { AppContext } from "../../config/app-context.ts";
import { accessBy, type AdmittedCaller, type AccessRefusal, challenge } from "./access.ts";
import { browserLogins } from "./browser-logins.ts";
import type { OwnAddress } from "./refuse-foreign.ts";
import type { ServePlan } from "./serving.ts";
import { verifiedBy } from "./verifications.ts";

export interface AdmissionOptions {
  readonly serving: ServePlan;
  /** The server as it is reached; known once it listens. */
  readonly own: () => OwnAddress;
  /** The token of the principal with that id is no longer valid: what it started must end. */
  readonly ended: (principal: string) => void;
}

/** The requirements for a request. */
export interface Entry {
  /** Any of these is enough. */
  readonly scopes?: readonly [Scope, ...Scope[]];
  /** The subject of the error message for a principal without these scopes. */
  readonly what?: string;
  /** A token may come without a scheme. */
  readonly takesRaw?: boolean;
}

export type Admission = ReturnType<typeof openAdmission>;

/**
 * Authenticates and authorizes requests, and ends what they opened once their token is not valid.
 */
export function openAdmission(app: AppContext, { serving, own, ended }: AdmissionOptions) {
  const { data } = app.config;
  const { oauth, publicOrigin, proxied } = serving;
  const owner = new OwnerToken(data);
  const tokens = new AccessTokens(data, { report: app.report });
  const devices = new Devices(data, { report: app.report });
  const logins = browserLogins({ owner, devices, own, publicOrigin, proxied });
  const watch = new TokenWatch();
  const load = async () => {
    const { jwtVerifier } = await import("./jwt-verifier.ts");
    return jwtVerifier(oauth as NonNullable<typeof oauth>);
  };
  const access = accessBy({
    serving,
    owner,
    tokens,
    logins,
    log: app.log,
    keep: (principal, token, until) => {
      const kept = app.subjectTokens;
      kept.delete(principal);
      for (const [id, { until: end }] of kept) {
        if (end > Date.now() && kept.size < MOST_KEPT) break;
        kept.delete(id);
      }
      kept.set(principal, { token, until });
    },
    verifications: oauth === undefined ? undefined : verifiedBy({ load }),
  });

  /** Creates the owner's token if there is none. Returns a message if it had to replace one. */
  async function prepare(): Promise<string | undefined> {
    if ((await owner.ensure()) !== "replaced") return undefined;
    return `'${owner.path}' could be read by others, or held no token: it has a new one.`;
  }

  /** Authenticates a request. `open` is the response or socket that ends with its token. */
  async function admit(
    request: IncomingMessage,
    open: Open,
    entry: Entry = {},
  ): Promise<AdmittedCaller | AccessRefusal> {
    const { scopes, what, takesRaw } = entry;
    const found = await access.admit(request, takesRaw);
    if (!("principal" in found)) return found;
    const { principal, proof, standing } = found;
    if (scopes !== undefined && !scopes.some((scope) => hasScope(principal, scope))) {
      const [first] = scopes;
      // RFC 6750, section 3.1.
      const header = challenge({ error: "insufficient_scope", scopes: [first] });
      const message = scopeRefusal(principal, first, what ?? "This") ?? "";
      return { status: 403, message, headers: { "www-authenticate": header } };
    }
    watch.add(open, proof, standing, () => ended(principal.id));
    return found;
  }

  /** Like `admit`, with callbacks. */
  function ask(
    request: IncomingMessage,
    open: Open,
    then: { admitted: (principal: Principal) => void; refused: (refused: AccessRefusal) => void },
    entry: Entry = {},
  ): void {
    const go = (found: AdmittedCaller | AccessRefusal): void => {
      if ("principal" in found) then.admitted(found.principal);
      else then.refused(found);
    };
    background(admit(request, open, entry).then(go), "Admitting a request");
  }

  return {
    ...{ logins, prepare, admit, ask },
    /** Protected resource metadata (RFC 9728): the authorization servers of this server. */
    resourceMetadata: metadataOf(serving),
    codes: new LoginCodes(data),
    /** The file that has the owner's token. */
    tokenFile: owner.path,
    async [Symbol.asyncDispose](): Promise<void> {
      watch[Symbol.dispose]();
      await tokens[Symbol.asyncDispose]();
      await devices[Symbol.asyncDispose]();
    },
  };
}

/** People whose tokens are kept at once. */
const MOST_KEPT = 1_000;

function metadataOf({ oauth }: ServePlan): Readonly<Record<string, unknown>> | undefined {
  if (oauth === undefined) return undefined;
  const { resource, authorizationServers, scopes } = oauth;
  return {
    resource,
    authorization_servers: authorizationServers,
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ["header"],
    resource_name: "Trunkline",
  };
}

/** A response or a socket that was opened with a token. */
export interface Open {
  readonly closed: boolean;
  destroy(): unknown;
}

/** Milliseconds between two checks whether tokens are still valid. */
const LOOK_EVERY = 200;

/** A token or a cookie, and whether it is still valid. */
export interface Proof {
  /** The same for every request with the same token. */
  readonly key: string;
  readonly isLive: () => boolean;
  /** When it ends by itself, where another of the same key may end later. */
  readonly until?: number;
}

/**
 * Closes what a token has opened once the token is revoked or expired. A request is checked when it
 * comes; a stream or socket that lasts longer is closed within a second of its token.
 */
export class TokenWatch implements Disposable {
  readonly #open = new Map<Open, Proof>();
  readonly #standing = new Map<string, { proof: Proof; readonly end: () => void }>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * Closes something when its proof is no longer valid. Calls back when the standing proof has ended, and no
   * newer one has the same key.
   */
  add(open: Open, proof: Proof | undefined, standing?: Proof, end: () => void = () => {}): void {
    // The client may have gone while its token was verified.
    if (proof !== undefined && !open.closed) this.#open.set(open, proof);
    if (standing !== undefined) {
      const known = this.#standing.get(standing.key);
      if (known === undefined) this.#standing.set(standing.key, { proof: standing, end });
      else if ((standing.until ?? 0) > (known.proof.until ?? 0)) known.proof = standing;
    }
    if (this.#open.size === 0 && this.#standing.size === 0) return;
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#open.clear();
    this.#standing.clear();
  }

  #look(): void {
    // A check may read a file: do it once for all that have the same token.
    const known = new Map<string, boolean>();
    const isGood = ({ key, isLive }: Proof): boolean => {
      // A token that cannot be checked is treated as invalid.
      const found = known.get(key) ?? attempt(isLive, false);
      known.set(key, found);
      return found;
    };
    for (const [open, proof] of this.#open) {
      if (open.closed) this.#open.delete(open);
      else if (!isGood(proof)) open.destroy();
    }
    for (const [key, { proof, end }] of this.#standing) {
      if (attempt(proof.isLive, false)) continue;
      this.#standing.delete(key);
      end();
    }
    if (this.#open.size > 0 || this.#standing.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
