import { defined } from "../base/defined.ts";
import type { BackoffLimits } from "../base/limit/backoff.ts";
import { glob } from "../base/text/glob.ts";
import { QUESTION_LIMITS } from "../protocol/mcp/connect/questions.ts";

/** What all kinds of MCP servers have. */
interface ServerSettings {
  /** Whether all clients share it, or each has an instance of its own; "shared" when left out. */
  readonly instance?: "shared" | "client";
  /** Whether it is left out. */
  readonly disabled?: boolean;
  /** How long a call may take without progress (`timeoutOf`). */
  readonly timeout?: number;
  /** Its tools that need no question, by its own names. */
  readonly autoApprove?: readonly string[];
  /** Patterns of the tools that are offered; all when left out. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /** Of an instance for a project: its folder, for which `${workspaceFolder}` stands. */
  readonly folder?: string;
}

/** An MCP server that is started, and spoken to on its standard streams. */
export interface CommandSettings extends ServerSettings {
  readonly command: string;
  readonly args?: readonly string[];
  /** Environment variables in addition to the usual ones. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A file with further variables. */
  readonly envFile?: string;
}

/** Where the people of an organization log in once, for all servers that trust it. */
export interface IdentityProvider {
  readonly issuer: string;
  /** We, as its client. */
  readonly clientId: string;
  readonly clientSecret?: string;
}

/** How to log in to a server that requires it. Settings that are left out are discovered. */
export interface OAuthSettings {
  /** The authorization server, where the MCP server names none, or one in a private network. */
  readonly issuer?: string;
  /** The client that the person has registered there. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** Where a client metadata document is published. */
  readonly clientMetadataUrl?: string;
  readonly identityProvider?: IdentityProvider;
  /** What to ask for instead of what the server names. */
  readonly scopes?: readonly string[];
  /** Whether the server is named in requests for tokens (RFC 8707); true when left out. */
  readonly resource?: boolean;
  /** The port that the browser comes back to; any free one when left out. */
  readonly callbackPort?: number;
}

/** An MCP server that is reached over HTTP. */
export interface AddressSettings extends ServerSettings {
  /** `sse` is the transport of 2024-11-05; anything else is Streamable HTTP. */
  readonly type?: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A command of the shell that prints further headers. */
  readonly headersHelper?: string;
  readonly oauth?: OAuthSettings;
  /** Whose login it is used with; "shared" when left out. */
  readonly login?: "shared" | "each" | "passed on";
}

/** An API that an OpenAPI document describes. Its operations are the tools. */
export interface OpenApiSettings extends ServerSettings {
  /** A file or a URL. */
  readonly openapi: string;
  /** The address of the API, where the document does not say it. */
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Credentials, by the names of the document's security schemes. */
  readonly auth?: Readonly<Record<string, string>>;
}

/** One entry of `mcpServers`. */
export type UpstreamSettings = CommandSettings | AddressSettings | OpenApiSettings;

/** Whether it is an MCP server that is reached over HTTP. */
export function isAddress<T extends object>(settings: T): settings is T & AddressSettings {
  return "url" in settings && !("openapi" in settings);
}

/** Whether the configuration itself has the `Authorization` header of a server. */
export function hasAuthorization({ headers = {} }: Pick<AddressSettings, "headers">): boolean {
  return Object.keys(headers).some((header) => header.toLowerCase() === "authorization");
}

/** Whether each person uses it as themselves: then nothing of it is shared. */
export function isPersonal(settings: UpstreamSettings): settings is AddressSettings {
  return isAddress(settings) && settings.login !== undefined && settings.login !== "shared";
}

/** The identity provider whose word on each person is passed on to the server. */
export function identityProviderOf({
  login,
  oauth,
}: AddressSettings): IdentityProvider | undefined {
  return login === "passed on" ? oauth?.identityProvider : undefined;
}

/** An identity provider as what is logged in to. */
export function atProvider({ issuer, clientId, clientSecret }: IdentityProvider): AddressSettings {
  const oauth = defined<OAuthSettings>({ issuer, clientId, clientSecret, resource: false });
  return { url: issuer, oauth };
}

/** Whether nobody logs in to it: their token for the gateway is passed on. */
export function isLoginless(settings: AddressSettings): boolean {
  return settings.login === "passed on" && identityProviderOf(settings) === undefined;
}

/** Why a server cannot be used with the logins that its settings ask for; undefined if it can. */
export function loginMistake(settings: UpstreamSettings): string | undefined {
  if (!isPersonal(settings)) return undefined;
  if (hasAuthorization(settings)) {
    return "says that each person has a login, and its 'headers' have one for all. Remove either";
  }
  const { issuer, clientId, clientMetadataUrl } = settings.oauth ?? {};
  const client =
    identityProviderOf(settings) === undefined ? clientId : (clientId ?? clientMetadataUrl);
  if (settings.login === "each" || (issuer !== undefined && client !== undefined)) return undefined;
  return "needs 'oauth.issuer' and 'oauth.clientId': the authorization server that people are passed on to, and as whom we ask there";
}

/** Whether a tool is offered, by any of its names. */
export function isIncluded(
  names: readonly string[],
  { include, exclude = [] }: Pick<ServerSettings, "include" | "exclude">,
): boolean {
  const fits = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => {
      const matches = glob(pattern);
      return names.some((name) => matches(name));
    });
  return (include === undefined || fits(include)) && !fits(exclude);
}

/** Whether it works in the project of whoever calls, so that each has an instance. */
export function isOfProject(settings: UpstreamSettings): boolean {
  return JSON.stringify(settings).includes("${workspaceFolder}");
}

/** What is started or reached, for people. */
export function shownSource(settings: UpstreamSettings): string {
  if ("openapi" in settings) return settings.openapi;
  if ("url" in settings) return settings.url;
  return [settings.command, ...(settings.args ?? [])].join(" ");
}

/** Retries and timeouts of one upstream. */
export interface UpstreamLimits extends BackoffLimits {
  /** Milliseconds that starting it may take. */
  readonly start: number;
  /** Milliseconds after which one that has not answered `server/discover` is sent `initialize`. */
  readonly probe: number;
  /** Milliseconds that a list waits for an upstream that was never seen before. */
  readonly firstList: number;
  /** Milliseconds for which change notifications are debounced. */
  readonly gather: number;
  /** Milliseconds for the answer to a question of it, by the question's method. */
  readonly questions: Readonly<Record<string, number>>;
  /** Instances that clients have of their own, besides the first. */
  readonly instances: number;
  /** Milliseconds after which such an instance is ended that is not used. */
  readonly instanceIdle: number;
}

export const DEFAULT_UPSTREAM_LIMITS: UpstreamLimits = {
  firstWait: 500,
  longestWait: 30_000,
  mostFailures: 5,
  rest: 30_000,
  // Some are downloaded from a registry at their first start.
  start: 60_000,
  probe: 2_000,
  firstList: 5_000,
  gather: 50,
  questions: QUESTION_LIMITS,
  instances: 32,
  instanceIdle: 30 * 60_000,
};

/** Programs disagree about the unit. From this number on it must be milliseconds. */
const LEAST_MILLISECONDS = 1_000;

/** Milliseconds that a call may take without progress. */
export function timeoutOf({ timeout }: UpstreamSettings): number | undefined {
  if (timeout === undefined) return undefined;
  return timeout < LEAST_MILLISECONDS ? timeout * 1_000 : timeout;
}
