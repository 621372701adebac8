/** Identifies a secret: the service that stores it, and the account that it is for. */
export interface SecretName {
  readonly service: string;
  readonly account: string;
}

/** A store of secrets. */
export interface SecretStore {
  readonly kind: "keychain" | "file";
  /** What and where it is, for people. */
  readonly describe: string;
  get(name: SecretName): Promise<string | undefined>;
  set(name: SecretName, secret: string): Promise<void>;
  /** Whether there was such a secret. */
  remove(name: SecretName): Promise<boolean>;
}
