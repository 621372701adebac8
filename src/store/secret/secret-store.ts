/** Which of two secrets is meant: a program's name for what it keeps, and whose it is. */
export interface SecretName {
  readonly service: string;
  readonly account: string;
}

/** Where tokens are kept. */
export interface SecretStore {
  readonly kind: "keychain" | "file";
  /** For people: what and where it is. */
  readonly describe: string;
  get(name: SecretName): Promise<string | undefined>;
  set(name: SecretName, secret: string): Promise<void>;
  /** Whether there was one. */
  remove(name: SecretName): Promise<boolean>;
}
