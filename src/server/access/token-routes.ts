import { dirname, isAbsolute } from "node:path";

import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import {
  accessTokenOf,
  OWNER,
  type Principal,
  type PrincipalLimits,
} from "../../base/principal.ts";
import { untilShared } from "../../fleet/replication/until-shared.ts";
import { isExpired } from "../../store/access/access-token.ts";
import type { AccessToken } from "../../store/schema.gen.ts";
import type { AccessTokens } from "../../store/access/access-tokens.ts";
import type { TokenRow } from "../dashboard/api.ts";
import { checkNewToken, type NewToken } from "../dashboard/schema.gen.ts";
import { type ApiRoute, bodyAs, route } from "../../base/capability/api-route.ts";

const DAY = 24 * 60 * 60_000;

/** Access tokens, those of all. */
export function tokenRoutes(
  tokens: AccessTokens,
  revoked: (by: string) => Promise<unknown> = async () => {},
): readonly ApiRoute[] {
  return [
    route("GET /api/tokens", "admin", async () => ({ tokens: tokens.list().map(rowOf) })),
    route("POST /api/tokens", "admin", async ({ principal, body }) => {
      const wanted = bodyAs(body, checkNewToken);
      const { name, scopes, days } = wanted;
      const expires = days === undefined ? undefined : new Date(Date.now() + days * DAY);
      const limits = limitsOf(wanted);
      const grant = { scopes, ...(isEmpty(limits) ? {} : { limits }) };
      const { token, kept } = await tokens.create(name, grant, expires, makerOf(principal));
      return { token, row: rowOf(kept) };
    }),
    route("POST /api/tokens/:id/revoke", "admin", async ({ id, principal }) => {
      if (!tokens.list().some((token) => token.id === id)) {
        throw new TrunklineError("not-found", `There is no token '${id.slice(0, 64)}'.`);
      }
      await tokens.revoke(id);
      await revoked(principal.id || "owner");
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
  return defined<TokenRow>({
    ...{ id, name, scopes, profile, maker, limits: limits && { ...limits } },
    created: Date.parse(created),
    expires: expires === undefined ? undefined : Date.parse(expires),
    used: lastUsed === undefined ? undefined : Date.parse(lastUsed),
    isExpired: isExpired(token, Date.now()),
  });
}

function limitsOf({ agents, tools, folders, repositories }: NewToken): PrincipalLimits {
  const relative = folders?.find((folder) => !isAbsolute(folder));
  if (relative === undefined) return defined({ agents, tools, folders, repositories });
  throw new TrunklineError("usage", `The folder '${relative}' has to be an absolute path.`);
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}
