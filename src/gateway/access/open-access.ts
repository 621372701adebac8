import { AccessTokens } from "../../store/access/access-tokens.ts";
import { OwnerToken } from "../../store/access/owner-token.ts";
import type { House } from "../house.ts";

/** The access tokens of a house. */
export function accessTokens({ config, log }: Pick<House, "config" | "log">): AccessTokens {
  return new AccessTokens(config.data, { report: (event, fields) => log.warn(event, fields) });
}

/** The same of a data folder, for one who only looks. */
export function accessTokensIn(data: string): AccessTokens {
  return new AccessTokens(data);
}

export function ownerTokenIn(data: string): OwnerToken {
  return new OwnerToken(data);
}
