/** A request that a server has refused for want of a token, or of a better one. */
export interface HttpRefusal {
  readonly status: 401 | 403;
  /** The `WWW-Authenticate` header. */
  readonly challenge: string | undefined;
  /** The token that was sent, if any. */
  readonly token: string | undefined;
}

/** What to do about a refusal: send the request again with a token, or say why not ("it …"). */
export type AfterRefusal = { readonly token: string } | { readonly why: string };

/** The bearer tokens for one server. */
export interface HttpAuthorization {
  /** The token to send now; undefined for none. A promise only while it is read or renewed. */
  token(): string | undefined | Promise<string | undefined>;
  /** A request is sent again once at most, so this ends. */
  refused(refusal: HttpRefusal): Promise<AfterRefusal>;
}

/** A server whose `Authorization` header the configuration has: there is nothing to renew. */
export const CONFIGURED_AUTHORIZATION: HttpAuthorization = {
  token: () => undefined,
  refused: async ({ status }) => ({
    why: `answered ${status}: it does not accept the 'Authorization' header that is configured`,
  }),
};

/** Whether an answer asks for a token, or for one that permits more (RFC 6750, section 3.1). */
export function isRefusal(status: number | undefined, challenge: string | undefined): boolean {
  return status === 401 || (status === 403 && /\binsufficient_scope\b/.test(challenge ?? ""));
}
