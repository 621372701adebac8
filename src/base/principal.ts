/** What a token may let its bearer do. */
export const SCOPES = ["tools", "sessions", "programs", "review", "dashboard", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** Which of the things that its scopes open a principal may reach. A member left out limits nothing. */
export interface PrincipalLimits {
  /** Names of agents; `*` stands for any text. */
  readonly agents?: readonly string[];
  /** Names of tools; `*` stands for any text. */
  readonly tools?: readonly string[];
  /** Folders, with all that is in them. */
  readonly folders?: readonly string[];
  /** Addresses of git repositories; `*` stands for any text. */
  readonly repositories?: readonly string[];
}

/** Who is behind a connection. Resolved once, where the connection comes in. */
export interface Principal {
  /** Tells it apart from all others; empty for the owner of the data folder. */
  readonly id: string;
  /** What its calls go under; where it is left out, what the program calls itself. */
  readonly name?: string | undefined;
  /** What it may do; without them, everything. */
  readonly scopes?: readonly Scope[] | undefined;
  readonly limits?: PrincipalLimits | undefined;
}

/** Whoever can start our programs or read our files: on stdio, on the owner's socket, with the owner's token. */
export const OWNER: Principal = { id: "" };

export function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes === undefined || scopes.includes(scope);
}
