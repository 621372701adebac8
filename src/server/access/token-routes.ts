import { dirname, isAbsolute } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import {
  accessTokenOf,
  OWNER,
  type Principal,
  type PrincipalLimits,
  type Scope,
  SCOPES,
} from "../../base/principal.ts";
import { untilShared } from "../../fleet/replication/until-shared.ts";
import { isExpired } from "../../store/access/access-token.ts";
import type { AccessToken } from "../../store/schema.gen.ts";
import type { AccessTokens } from "../../store/access/access-tokens.ts";
import type { TokenRow } from "../dashboard/api.ts";
import { type ApiCall, type ApiRoute, route, textIn } from "../../base/capability/api-route.ts";

const DAY = 24 * 60 * 60_000;
const MOST_DAYS = 3_650;
const LIMITS = ["agents", "tools", "folders", "repositories"] as const;

/** Access tokens, those of all. */
export function tokenRoutes(
  tokens: AccessTokens,
  revoked: (token: AccessToken) => Promise<void> = async () => {},
): readonly ApiRoute[] {
  return [
    route("GET /api/tokens", "admin", async () => ({ tokens: tokens.list().map(rowOf) })),
    route("POST /api/tokens", "admin", async ({ principal, body }) => {
      const { days } = body;
      const expires = days === undefined ? undefined : new Date(Date.now() + daysOf(days) * DAY);
      const limits = limitsOf(body);
      const grant = { scopes: scopesOf(body), ...(limits === undefined ? {} : { limits }) };
      const maker = makerOf(principal);
      const { token, kept } = await tokens.create(textIn(body, "name"), grant, expires, maker);
      return { token, row: rowOf(kept) };
    }),
    route("POST /api/tokens/:id/revoke", "admin", async ({ id }) => {
      if (!tokens.list().some((token) => token.id === id)) {
        throw new TrunklineError("not-found", `There is no token '${id.slice(0, 64)}'.`);
      }
      await revoked(await tokens.revoke(id));
      const row = { part: "tokens", kind: "token", key: id, isThere: false } as const;
      return { ok: true, isShared: await untilShared(dirname(tokens.path), row) };
    }),
  ];
}

/** The token with which a principal makes others; undefined for the owner, who may give anything. */
function makerOf(principal: Principal): string | undefined {
  if (principal.id === OWNER.id) return undefined;
  const id = accessTokenOf(principal);
  if (id !== undefined) return id;
  // A user of an authorization server loses access there, and this server is not notified of it.
  const next = "Create it on the machine itself: trunkline token create";
  throw new TrunklineError("untrusted", `Only the owner and access tokens make tokens. ${next}`);
}

/** Never the hash: nobody needs it. */
function rowOf(token: AccessToken): TokenRow {
  const { id, name, scopes, limits, profile, maker, created, expires, lastUsed } = token;
  return {
    id,
    name,
    scopes,
    ...(limits === undefined ? {} : { limits: { ...limits } }),
    ...(profile === undefined ? {} : { profile }),
    ...(maker === undefined ? {} : { maker }),
    created: Date.parse(created),
    ...(expires === undefined ? {} : { expires: Date.parse(expires) }),
    ...(lastUsed === undefined ? {} : { used: Date.parse(lastUsed) }),
    isExpired: isExpired(token, Date.now()),
  };
}

function scopesOf({ scopes }: ApiCall["body"]): Scope[] {
  const known = Array.isArray(scopes) ? SCOPES.filter((scope) => scopes.includes(scope)) : [];
  if (Array.isArray(scopes) && known.length === scopes.length && known.length > 0) return known;
  const says = `'scopes' has to be a list of some of these: ${SCOPES.join(", ")}.`;
  throw new TrunklineError("usage", says);
}

function limitsOf(body: ApiCall["body"]): PrincipalLimits | undefined {
  const given = LIMITS.filter((name) => body[name] !== undefined);
  if (given.length === 0) return undefined;
  const limits: Record<string, string[]> = {};
  for (const name of given) limits[name] = textsIn(body, name);
  const relative = limits.folders?.find((folder) => !isAbsolute(folder));
  if (relative === undefined) return limits;
  throw new TrunklineError("usage", `The folder '${relative}' has to be an absolute path.`);
}

function textsIn(body: ApiCall["body"], name: string): string[] {
  const value = body[name];
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === "string");
  if (isTexts) return value;
  throw new TrunklineError("usage", `'${name}' has to be a list of texts.`);
}

function daysOf(days: unknown): number {
  if (typeof days === "number" && days > 0 && days <= MOST_DAYS) return days;
  throw new TrunklineError("usage", `'days' has to be a number up to ${MOST_DAYS}.`);
}
