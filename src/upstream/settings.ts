import { defined } from "../base/defined.ts";
import type { BackoffLimits } from "../base/limit/backoff.ts";
import { glob } from "../base/text/glob.ts";
import type {
  McpAddress,
  McpCommand,
  OAuthSettings,
  OpenApiServer,
} from "../config/schema/schema.gen.ts";
import { QUESTION_LIMITS } from "../protocol/mcp/connect/questions.ts";

/** What the configuration does not say of a server. */
interface InstanceSettings {
  /** The folder of an instance for a project, which replaces `${workspaceFolder}`. */
  readonly folder?: string;
}

/** An MCP server that is started, and used on its standard streams. */
export type CommandSettings = McpCommand & InstanceSettings;

/** An MCP server that is reached over HTTP. */
export type AddressSettings = McpAddress & InstanceSettings;

/** An API that an OpenAPI document describes. Its operations are the tools. */
export type OpenApiSettings = OpenApiServer & InstanceSettings;

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

/** Where the people of an organization log in once, for all servers that trust it. */
export type IdentityProvider = NonNullable<OAuthSettings["identityProvider"]>;

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
  { include, exclude = [] }: Pick<UpstreamSettings, "include" | "exclude">,
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
