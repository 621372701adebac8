import { randomUUID } from "node:crypto";

import {
  createRemoteJWKSet,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from "jose";

import { Issuer, type IssuerOptions } from "./issuer.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";

type Params = Readonly<Record<string, string>>;
interface Asked {
  readonly oidc: { readonly params: Params; readonly client: { readonly clientId: string } };
  body: unknown;
  status: number;
}

const CLIENT = { application_type: "native", response_types: ["code"] };

function refuse(ctx: Asked, error: string, why: string): void {
  ctx.status = 400;
  ctx.body = { error, error_description: why };
}

/** The identity provider of an organization: people log in, and it vouches for them where they may go. */
export class IdentityProvider {
  readonly issuer: Issuer;
  /** Each assertion that it was asked for. */
  readonly asked: Params[] = [];
  /** Who may not go anywhere. */
  readonly barred = new Set<string>();
  /** What it says instead of the truth; a test changes it. */
  lie: JWTPayload & { readonly typ?: string; readonly type?: string } = {};

  private constructor(issuer: Issuer) {
    this.issuer = issuer;
  }

  /** `pairs`: by authorization server, the servers that it is for. */
  static async open(pairs: ReadonlyMap<string, string>, options: IssuerOptions = {}) {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const key = { ...(await exportJWK(privateKey)), kid: "k", use: "sig", alg: "ES256" };
    const client = {
      ...CLIENT,
      ...{ client_id: "gateway", client_secret: "s3cret" },
      redirect_uris: ["http://127.0.0.1/logins/callback", "http://127.0.0.1/callback"],
      grant_types: ["authorization_code", "refresh_token", EXCHANGE],
      id_token_signed_response_alg: "ES256",
    };
    const more = { jwks: { keys: [key] } };
    const issuer = await Issuer.open("", { clients: [client], ...options, more });
    const provider = new IdentityProvider(issuer);
    const params = ["subject_token", "subject_token_type", "requested_token_type"];
    issuer.provider.registerGrantType(
      EXCHANGE,
      async (ctx: Asked) => {
        const { params: asked, client: by } = ctx.oidc;
        provider.asked.push({ ...asked });
        const { audience = "", resource = "", scope, subject_token = "" } = asked;
        if (asked["requested_token_type"] !== ID_JAG) return refuse(ctx, "invalid_request", "type");
        const found = await jwtVerify(subject_token, publicKey, {
          issuer: issuer.url,
          audience: by.clientId,
        }).catch(() => undefined);
        const sub = found?.payload.sub ?? "";
        if (found === undefined || issuer.removed.has(sub)) {
          return refuse(ctx, "invalid_grant", "the ID token is not good any more");
        }
        if (provider.barred.has(sub)) return refuse(ctx, "access_denied", "not for you");
        if (pairs.get(audience) !== resource) return refuse(ctx, "invalid_target", "no such pair");
        const { typ = "oauth-id-jag+jwt", type = ID_JAG, ...claims } = provider.lie;
        const assertion = await new SignJWT({
          ...{ jti: randomUUID(), iss: issuer.url, sub, aud: audience, resource },
          ...{ client_id: "trunkline", scope, ...claims },
        })
          .setProtectedHeader({ alg: "ES256", kid: "k", typ })
          .setIssuedAt()
          .setExpirationTime("5m")
          .sign(privateKey);
        const body = { access_token: assertion, token_type: "N_A", expires_in: 300, scope };
        ctx.body = { ...body, issued_token_type: type };
      },
      [...params, "audience", "resource", "scope"],
    );
    return provider;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.issuer[Symbol.asyncDispose]();
  }
}

/** The authorization server of an MCP server, which takes the word of an identity provider. */
export async function openTrusting(
  server: string,
  provider: () => IdentityProvider,
  options: IssuerOptions = {},
): Promise<Issuer> {
  const client = {
    ...CLIENT,
    ...{ client_id: "trunkline", client_secret: "other-s3cret" },
    redirect_uris: ["http://127.0.0.1/logins/callback"],
    grant_types: ["authorization_code", BEARER],
  };
  const more = {
    discovery: {
      authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
    },
  };
  const trusting = await Issuer.open(server, { ...options, clients: [client], more });
  const used = new Set<unknown>();
  const { lifetime = 60 } = options;
  trusting.provider.registerGrantType(
    BEARER,
    async (ctx: Asked) => {
      const { assertion = "", scope } = ctx.oidc.params;
      const { url } = provider().issuer;
      const keys = createRemoteJWKSet(new URL(`${url}/jwks`));
      const found = await jwtVerify(assertion, keys, {
        ...{ issuer: url, audience: trusting.url, typ: "oauth-id-jag+jwt" },
        requiredClaims: ["jti", "sub", "exp"],
      }).catch((error: unknown) => String(error));
      if (typeof found === "string") return refuse(ctx, "invalid_grant", found);
      const { jti, sub = "", resource, client_id } = found.payload;
      const isOurs = resource === server && client_id === ctx.oidc.client.clientId;
      if (!isOurs || used.has(jti)) return refuse(ctx, "invalid_grant", "not for us, or replayed");
      used.add(jti);
      const { AccessToken } = trusting.provider;
      const token = new AccessToken({ accountId: sub, client: ctx.oidc.client, gty: BEARER });
      Object.assign(token, { grantId: randomUUID(), aud: server, scope, expiresIn: lifetime });
      const body = { access_token: await token.save(), token_type: "Bearer" };
      ctx.body = { ...body, expires_in: lifetime, scope };
    },
    ["assertion", "scope", "resource"],
  );
  return trusting;
}
