/** Whom an agent acts as to git and to forges. */
export interface AgentIdentity {
  readonly name: string;
  /** An environment in which it does, made of one in which it might not. */
  environment(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
}
