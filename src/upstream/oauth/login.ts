/** How the client proves who it is to the authorization server. */
export type ClientMethod = "none" | "client_secret_basic" | "client_secret_post";

/** What we are to an authorization server. */
export interface OAuthClient {
  readonly id: string;
  readonly secret?: string;
  readonly method: ClientMethod;
}

/** A login at an MCP server, with all that it takes to renew and to end it. It is one secret. */
export interface Login {
  /** The address of the MCP server. The tokens are sent nowhere else. */
  readonly server: string;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** The name of the server in requests for tokens; undefined if it is left out. */
  readonly resource?: string;
  readonly client: OAuthClient;
  readonly scopes: readonly string[];
  readonly accessToken: string;
  /** In milliseconds since 1970; undefined if the authorization server does not say. */
  readonly expiresAt?: number;
  readonly refreshToken?: string;
}

/** What may be known of a login without its secrets. */
export interface LoginState {
  /** Undefined if nobody has logged in yet. */
  readonly issuer?: string;
  readonly scopes?: readonly string[];
  readonly expiresAt?: number;
  /** It is renewed without a person. */
  readonly isRenewed?: boolean;
  /** Scopes that the server has asked for in vain. The next login asks for them. */
  readonly wanted?: readonly string[];
  /** Why it can no longer be used. */
  readonly ended?: string;
}

/** The place of one login. */
export interface LoginStore {
  /** Undefined if there is none for this address. */
  read(): Promise<Login | undefined>;
  write(login: Login): Promise<void>;
  /** Whether there was one. What is known of it goes too, or is replaced. */
  remove(state?: LoginState): Promise<boolean>;
  state(): Promise<LoginState>;
  /** The server wants these scopes, too. */
  want(scopes: readonly string[]): Promise<void>;
  /** Differs after another process has changed anything. */
  stamp(): string;
  /** Runs work that no other process does at the same time. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** Milliseconds before the end of a token in which it is not used any more. */
const MARGIN = 30_000;

export function isExpired({ expiresAt }: Pick<Login, "expiresAt">, now = Date.now()): boolean {
  return expiresAt !== undefined && expiresAt - MARGIN < now;
}

/** A login that has ended, in a sentence that says what to do. */
export function loginCommand(name: string): string {
  return `trunkline server login ${/^[\w.-]+$/.test(name) ? name : `'${name}'`}`;
}
