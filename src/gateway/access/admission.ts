import type { IncomingMessage } from "node:http";

import type { AccessTokens } from "../../store/access-tokens.ts";
import type { House } from "../house.ts";
import type { Access, Admitted, Refused } from "./access.ts";
import { Lasting, type Open } from "./lasting.ts";
import { accessTokens, openAccess } from "./open-access.ts";
import type { Serving } from "./serving.ts";

/** Lets requests in, and has what they opened end with the tokens that they showed. */
export class Admission implements AsyncDisposable {
  /** RFC 9728: who gives out tokens for this server. */
  readonly resourceMetadata: Readonly<Record<string, unknown>> | undefined;
  readonly #tokens: AccessTokens;
  readonly #access: Access;
  readonly #lasting = new Lasting();

  /** Throws "usage" where nobody could come in who should. */
  constructor(house: House, serving: Serving) {
    this.#tokens = accessTokens(house);
    this.#access = openAccess(house, serving, this.#tokens);
    this.resourceMetadata = metadataOf(serving);
  }

  /** Whose request it is. `open` is what it is answered on. */
  admit(request: IncomingMessage, open: Open): Admitted | Refused | Promise<Admitted | Refused> {
    const found = this.#access.admit(request);
    if (found instanceof Promise) return found.then((late) => this.#keep(late, open));
    return this.#keep(found, open);
  }

  /** The same, for those who go one of two ways with it. At once, where it is known at once. */
  ask(
    request: IncomingMessage,
    open: Open,
    then: { admitted: (found: Admitted) => void; refused: (refused: Refused) => void },
  ): void {
    const go = (found: Admitted | Refused): void => {
      if ("principal" in found) then.admitted(found);
      else then.refused(found);
    };
    const found = this.admit(request, open);
    if (found instanceof Promise) void found.then(go);
    else go(found);
  }

  /** Writes when tokens were last used. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#lasting[Symbol.dispose]();
    await this.#tokens[Symbol.asyncDispose]();
  }

  #keep(found: Admitted | Refused, open: Open): Admitted | Refused {
    if ("principal" in found && found.isLive !== undefined) this.#lasting.add(open, found.isLive);
    return found;
  }
}

function metadataOf({ oauth }: Serving): Readonly<Record<string, unknown>> | undefined {
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
