import { boundedBody } from "../../base/bounded-body.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Identity } from "../identity.ts";

/** What a forge says of a token. */
export interface TokenFacts {
  /** The account it is for. */
  readonly user: string;
  readonly scopes: readonly string[];
  /** ISO 8601; undefined if it does not expire or the forge does not say. */
  readonly expires: string | undefined;
}

const TIMEOUT = 10_000;
const MAX_ANSWER = 256 * 1024;

/** The forge rejected the token. */
export class TokenRejectedError extends TrunklineError {
  constructor(host: string, status: number) {
    super("unavailable", `${host} rejected the token (${status})`);
  }
}

/** Asks a forge whose token it is. Undefined if its API is not known. */
export async function askForge(identity: Identity, token: string): Promise<TokenFacts | undefined> {
  const api = apiOf(identity);
  switch (identity.provider) {
    case "github": {
      const { body, headers } = await get(`${api}/user`, bearer(token));
      return {
        user: text(body.login),
        scopes: listed(headers.get("x-oauth-scopes")),
        expires: time(headers.get("github-authentication-token-expiration")),
      };
    }
    case "gitlab": {
      const own = { "private-token": token };
      const [user, self] = await Promise.all([
        get(`${api}/user`, own),
        // Only personal access tokens have this endpoint.
        get(`${api}/personal_access_tokens/self`, own).catch(() => undefined),
      ]);
      const scopes = self?.body.scopes;
      return {
        user: text(user.body.username),
        scopes: Array.isArray(scopes) ? scopes.map(text) : [],
        expires: time(text(self?.body.expires_at)),
      };
    }
    case "bitbucket": {
      const { body, headers } = await get(`${api}/user`, bearer(token));
      return {
        user: text(body.username),
        scopes: listed(headers.get("x-oauth-scopes")),
        expires: undefined,
      };
    }
    case "other":
      return undefined;
  }
}

/** The base URL of a forge's REST API; a self-hosted forge has it on its own host. */
function apiOf({ provider, host = "" }: Identity): string {
  if (provider === "github") {
    return host === "github.com" ? "https://api.github.com" : `https://${host}/api/v3`;
  }
  if (provider === "bitbucket") return "https://api.bitbucket.org/2.0";
  return `https://${host}/api/v4`;
}

interface ApiAnswer {
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

async function get(url: string, headers: Readonly<Record<string, string>>): Promise<ApiAnswer> {
  const { host } = new URL(url);
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json", "user-agent": "trunkline", ...headers },
      // Do not send the token to another host.
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const said = await textOf(response);
    if (response.status === 401 || response.status === 403) {
      throw new TokenRejectedError(host, response.status);
    }
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    return { body: JSON.parse(said) as ApiAnswer["body"], headers: response.headers };
  } catch (error) {
    if (error instanceof TrunklineError) throw error;
    const { name, message, cause } = error as Error;
    const why =
      name === "TimeoutError"
        ? `it did not answer within ${TIMEOUT} ms`
        : cause instanceof Error
          ? cause.message
          : message;
    throw new TrunklineError("unavailable", `Cannot ask ${host}: ${why}`, { cause: error });
  }
}

/** Reads the body, and throws as soon as it exceeds the limit. */
async function textOf(response: Response): Promise<string> {
  const { body, isCut } = await boundedBody(response.body ?? [], MAX_ANSWER);
  if (isCut) throw new Error(`it answered with more than ${MAX_ANSWER} bytes`);
  return body.toString("utf8");
}

function bearer(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function listed(value: string | null): string[] {
  return (value ?? "").split(/,\s*/).filter((each) => each !== "");
}

/** GitHub sends `2026-12-01 10:00:00 UTC`, GitLab the day on which the token expires. */
function time(value: string | null): string | undefined {
  if (value === null || value === "") return undefined;
  const plain = value.replace(/^(\S+) (\S+) UTC$/, "$1T$2Z").replace(/ ([+-]\d{4})$/, "$1");
  const at = Date.parse(plain);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
