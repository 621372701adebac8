/** Whom an agent acts as to git and to forges. */
export interface AgentIdentity {
  readonly name: string;
  /** An environment in which it does, made of one in which it might not. */
  environment(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
}

/** Whom it acts as in a folder; nobody where nobody can tell. */
export type ActsAs = (cwd: string) => Promise<AgentIdentity | undefined>;

interface Variable {
  readonly name: string;
  readonly value: string;
}

/** The same as a list of what is set, for an environment that somebody else has. */
export function identityVariables(identity: AgentIdentity | undefined): Variable[] {
  return Object.entries(identity?.environment({}) ?? {}).map(([name, value]) => {
    return { name, value: value ?? "" };
  });
}
