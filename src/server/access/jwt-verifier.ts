import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose";

import { attempt } from "../../base/attempt.ts";
import { bare, issuerKeys, type IssuerKeysOptions } from "./issuer-keys.ts";
import type { OAuth } from "./serving.ts";

/** Asymmetric signatures only: with a shared secret, others than the issuer could sign. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
/** RFC 9068, section 2.1. The same keys sign other JWTs, such as logout tokens. */
const TYPES: readonly unknown[] = [undefined, "jwt", "at+jwt", "application/at+jwt"];
const LONGEST = 8192;
/** Seconds that two clocks may be apart. */
const CLOCK_TOLERANCE = 5;

/** The result of verifying a token. */
export type Verdict =
  | {
      readonly kind: "valid";
      readonly issuer: string;
      readonly subject: string;
      readonly until: number;
    }
  | { readonly kind: "invalid"; readonly why: string }
  | { readonly kind: "insufficient" };

export type JwtVerifier = ReturnType<typeof jwtVerifier>;

/** Verifies access tokens of the configured authorization servers. */
export function jwtVerifier(oauth: OAuth, options: IssuerKeysOptions = {}) {
  const issuers = new Map(
    oauth.authorizationServers.map((issuer) => [bare(issuer), issuerKeys(issuer, options)]),
  );

  /** Throws "unavailable" where the issuer's keys cannot be had. */
  async function verify(token: string): Promise<Verdict> {
    if (token.length > LONGEST) return invalid("it is too long");
    const claimed = readClaims(token);
    if (claimed === undefined) return invalid("it cannot be read");
    if (!TYPES.includes(claimed.type)) return invalid("it is not an access token");
    const { issuer } = claimed;
    const keys = issuers.get(bare(issuer));
    if (keys === undefined) return invalid("its issuer is not known here");
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: [...oauth.audiences],
        algorithms: ALGORITHMS,
        requiredClaims: ["exp"],
        clockTolerance: CLOCK_TOLERANCE,
      });
      return judge(issuer, payload);
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      return invalid(reasonOf(error));
    }
  }

  function judge(issuer: string, payload: JWTPayload): Verdict {
    // RFC 9449 and RFC 8705: a sender-constrained token needs a proof, which we do not ask for.
    if (payload.cnf !== undefined) return invalid("it is bound to a key");
    const subject = [payload.sub, payload.client_id, payload.azp].find(isText);
    if (subject === undefined) return invalid("it does not say whose it is");
    const granted = scopesOf(payload);
    if (!oauth.scopes.every((scope) => granted.has(scope))) return { kind: "insufficient" };
    const until = ((payload.exp ?? 0) + CLOCK_TOLERANCE) * 1000;
    return { kind: "valid", issuer, subject, until };
  }

  return { verify };
}

/** The claims of a token that is not verified yet. */
function readClaims(token: string): { type: unknown; issuer: string } | undefined {
  return attempt(() => {
    const { typ } = decodeProtectedHeader(token);
    const { iss } = decodeJwt(token) as { readonly iss?: unknown };
    return { type: typ?.toLowerCase(), issuer: typeof iss === "string" ? iss : "" };
  });
}

function scopesOf({ scope, scp }: JWTPayload): ReadonlySet<unknown> {
  const all = [scope, scp].flatMap((value) => (isText(value) ? value.split(" ") : value));
  return new Set(all);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function invalid(why: string): Verdict {
  return { kind: "invalid", why };
}

/** Why a token is refused, without the values that were expected: the sender may be a stranger. */
function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === "aud") return "its audience is another server";
    if (error.claim === "nbf") return "it is not valid yet";
    return "what it says is not right";
  }
  return "it cannot be verified";
}
