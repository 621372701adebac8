import type { ApiRoute } from "./api-route.ts";

/**
 * A part of the program that does work of its own. The registry (`CAPABILITIES`) lists them all, and the
 * program is built from that list. `App` is as much of the running program as the capability uses.
 */
export interface Capability<App = never, Offer = never> {
  /** Adds its tools, resources and prompts to what all doors offer. Loads their code with the first call. */
  offer?(app: App, offer: Offer, options: OfferOptions): AsyncDisposable | undefined;
  /** Its endpoints of the dashboard's API, loaded with the first request to any. */
  routes?(app: App): Promise<readonly ApiRoute[]>;
}

/** A program that keeps its state in a folder. */
export interface DataApp {
  readonly config: { readonly data: string };
}

export interface OfferOptions {
  /** The only project that is served, and whose news are told; any when left out. */
  readonly folder?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
}
