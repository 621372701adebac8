import { openKeys } from "../../../identity/open/open-secret-store.ts";

/**
 * The tokens with which sessions were moved, in the keychain or what stands in for it: the old place relays
 * with them, and finishes what a kill has interrupted. Without them, both are left to the person.
 */
export class MoveTokens {
  readonly #open: ReturnType<typeof openKeys>;

  constructor(data: string, env: NodeJS.ProcessEnv) {
    this.#open = openKeys(data, env);
  }

  async get(session: string): Promise<string | undefined> {
    const store = await this.#open().catch(() => undefined);
    return await store?.get(nameOf(session)).catch(() => undefined);
  }

  async keep(session: string, token: string | undefined): Promise<void> {
    const store = await this.#open().catch(() => undefined);
    if (token !== undefined) await store?.set(nameOf(session), token).catch(() => {});
  }

  async forget(session: string): Promise<void> {
    const store = await this.#open().catch(() => undefined);
    await store?.remove(nameOf(session)).catch(() => {});
  }
}

function nameOf(session: string): { readonly service: string; readonly account: string } {
  return { service: "trunkline", account: `move ${session}` };
}
