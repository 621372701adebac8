import { TrunklineError } from "../../base/errors.ts";
import { AccessTokens } from "../../store/access-tokens.ts";
import type { House } from "../house.ts";
import { Access } from "./access.ts";
import type { Serving } from "./serving.ts";

/** The access tokens of a house. */
export function accessTokens({ config, log }: Pick<House, "config" | "log">): AccessTokens {
  return new AccessTokens(config.data, { report: (event, fields) => log.warn(event, fields) });
}

/** The same of a data folder, for one who only looks. */
export function accessTokensIn(data: string): AccessTokens {
  return new AccessTokens(data);
}

/** Throws "usage" where others are to reach the gateway and none of them could come in. */
export function openAccess(house: House, serving: Serving, tokens: AccessTokens): Access {
  const { oauth } = serving;
  const problem = entryProblem(serving, tokens);
  if (problem !== undefined) throw new TrunklineError("usage", problem);
  return new Access({
    serving,
    tokens,
    log: house.log,
    ...(oauth === undefined
      ? {}
      : {
          loadVerifier: async () => {
            const { JwtVerifier } = await import("./jwt-verifier.ts");
            return new JwtVerifier(oauth);
          },
        }),
  });
}

/** Why nobody could come in who should, and what to do about it; or nothing. */
export function entryProblem(serving: Serving, tokens: AccessTokens): string | undefined {
  const { isOpen, isLoopback, oauth, host, publicUrl } = serving;
  if (!isOpen || oauth !== undefined || tokens.hasLive) return undefined;
  const where = isLoopback ? `Cannot serve '${publicUrl ?? ""}'` : `Cannot listen on '${host}'`;
  return `${where}: only this machine may connect without a token. Make one with \`trunkline token create NAME\`, or set \`serve.oauth\`.`;
}
