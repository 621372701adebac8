import { OWNER, personOf, type Principal } from "../../base/principal.ts";
import { Announcement } from "./registry.ts";
import type { Profile } from "../profile/profile.ts";
import {
  type Completion,
  type CompletionArgument,
  type ResourceDefinition,
  type ResourceProvider,
  type ResourceResult,
  type ResourceTemplateDefinition,
  CannotAsk,
  type Question,
  type Skill,
  type ToolContext,
} from "../tool.ts";
import { mayHave } from "../policy.ts";

export type Report = (event: string, fields: Record<string, unknown>) => void;

/**
 * The resources of all providers, and the subscriptions to them. A provider that fails is reported;
 * the resources of the others stay available.
 */
export class Resources {
  readonly #providers = new Set<ResourceProvider>();
  readonly #changes = new Announcement((error) => this.#report("resource.listener", { error }));
  readonly #watchers = new Map<string, Announcement>();
  readonly #report: Report;
  readonly #opened: (principal: Principal) => Promise<void>;

  /** `opened` opens the providers that belong to one principal. */
  constructor(
    report: Report = () => {},
    opened: (principal: Principal) => Promise<void> = async () => {},
  ) {
    this.#report = report;
    this.#opened = opened;
  }

  add(provider: ResourceProvider): () => void {
    this.#providers.add(provider);
    for (const uri of this.#watchers.keys()) this.#tell(provider, "watch", uri);
    this.changed(provider.person);
    return () => {
      if (this.#providers.delete(provider)) this.changed(provider.person);
    };
  }

  /** What a principal may read, as far as its profile shows it. */
  list(principal = OWNER, profile?: Profile): Promise<ResourceDefinition[]> {
    return this.#gather(principal, async (provider) => {
      const all = await provider.list();
      return profile?.resourcesOf(provider, all, ({ uri }) => uri) ?? all;
    });
  }

  templates(principal = OWNER, profile?: Profile): Promise<ResourceTemplateDefinition[]> {
    return this.#gather(principal, async (provider) => {
      const all = (await provider.templates?.()) ?? [];
      return profile?.resourcesOf(provider, all, ({ uriTemplate }) => uriTemplate) ?? all;
    });
  }

  /**
   * Undefined when nobody knows the URI. A provider that fails may not be the one that knows it, so
   * the others are asked too; when none of them has it, the failure is the answer.
   */
  async read(uri: string, context: ToolContext): Promise<ResourceResult | undefined> {
    const failures: unknown[] = [];
    for (const provider of await this.#providersFor(context.caller.principal)) {
      try {
        if ((await context.profile?.hasResourceOf(provider, uri)) === false) continue;
        const result = await provider.read(uri, context);
        if (result !== undefined) return result;
      } catch (error) {
        // A provider that asks the client, or was cancelled, has the resource: do not try the others.
        if (error instanceof CannotAsk || context.signal.aborted) throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return undefined;
  }

  /** The skills that a caller may read. */
  async skills(context: ToolContext): Promise<Skill[]> {
    const { caller, profile } = context;
    return this.#gather(caller.principal, async (provider) => {
      const all = (await provider.skills?.(context)) ?? [];
      return profile?.resourcesOf(provider, all, ({ uri }) => uri) ?? all;
    });
  }

  /** Asks about a resource by a method of an extension. Undefined when nobody knows it. */
  async askAbout(
    uri: string,
    question: Question,
    context: ToolContext,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    return this.#first(uri, context.caller.principal, context.profile, (provider) => {
      return provider.askAbout?.(uri, question, context);
    });
  }

  /** The extensions of the servers that a client sees, with the settings of all of them. */
  extensions(profile?: Profile, principal = OWNER): Readonly<Record<string, unknown>> {
    const merged: Record<string, unknown> = {};
    for (const provider of this.#ownAndShared(principal)) {
      for (const { server, extensions } of provider.extensions?.() ?? []) {
        if (profile?.hasServer(server) === false) continue;
        for (const [name, settings] of Object.entries(extensions)) {
          merged[name] = { ...(merged[name] as object | undefined), ...(settings as object) };
        }
      }
    }
    return merged;
  }

  /** The suggestions of a provider for an argument of a template; undefined if there is none. */
  async complete(
    uri: string,
    argument: CompletionArgument,
    principal: Principal,
    profile?: Profile,
  ): Promise<Completion | undefined> {
    return this.#first(uri, principal, profile, (one) => one.complete?.(uri, argument));
  }

  /** The answer of the first provider that has the resource and shows it; undefined if none does. */
  async #first<T>(
    uri: string,
    principal: Principal,
    profile: Profile | undefined,
    ask: (provider: ResourceProvider) => Promise<T | undefined> | undefined,
  ): Promise<T | undefined> {
    for (const provider of await this.#providersFor(principal)) {
      if ((await profile?.hasResourceOf(provider, uri)) === false) continue;
      const said = await ask(provider);
      if (said !== undefined) return said;
    }
    return undefined;
  }

  /** Whether a client may be told that a resource has changed. */
  async isShown(uri: string, principal: Principal, profile: Profile | undefined): Promise<boolean> {
    if (profile === undefined) return true;
    for (const provider of await this.#providersFor(principal)) {
      const source = await provider.sourceOf?.(uri);
      if (source !== undefined) return profile.hasResource(source.name, source.server);
    }
    return profile.hasResource(uri);
  }

  async #providersFor(principal: Principal): Promise<ResourceProvider[]> {
    await this.#opened(principal);
    return this.#ownAndShared(principal).filter(({ scope }) => mayHave(principal, scope));
  }

  /**
   * The caller's own providers and the shared ones. Own providers come first: they are asked only about what
   * they have listed.
   */
  #ownAndShared(principal: Principal): ResourceProvider[] {
    const all = [...this.#providers];
    const person = personOf(principal);
    const own = all.filter((each) => each.person !== undefined && each.person === person);
    return [...own, ...all.filter((each) => each.person === undefined)];
  }

  /** For providers: which resources there are has changed, for a person or for all. */
  changed(person?: string): void {
    this.#changes.make(person);
  }

  /** For providers: what the resource says has changed. */
  updated(uri: string): void {
    this.#watchers.get(uri)?.make();
  }

  /** Calls back after changes: once for all that were made in one turn. Returns how to stop it. */
  onChange(listener: () => void, person?: string): () => void {
    return this.#changes.on(listener, person);
  }

  /** Calls back when the resource is updated. Providers hear of the first watcher and the last. */
  watch(uri: string, listener: () => void): () => void {
    const watchers = this.#watchers.get(uri) ?? this.#startWatching(uri);
    const stop = watchers.on(listener);
    return () => {
      stop();
      if (watchers.hasListeners || this.#watchers.get(uri) !== watchers) return;
      this.#watchers.delete(uri);
      for (const provider of this.#providers) this.#tell(provider, "unwatch", uri);
    };
  }

  #startWatching(uri: string): Announcement {
    const watchers = new Announcement((error) => this.#report("resource.listener", { error }));
    this.#watchers.set(uri, watchers);
    for (const provider of this.#providers) this.#tell(provider, "watch", uri);
    return watchers;
  }

  #tell(provider: ResourceProvider, what: "watch" | "unwatch", uri: string): void {
    // Watching is shared by all who watch an address.
    if (provider.person !== undefined) return;
    try {
      provider[what]?.(uri);
    } catch (error) {
      this.#report("resource.provider", { error, uri });
    }
  }

  async #gather<T>(
    principal: Principal,
    ask: (provider: ResourceProvider) => readonly T[] | Promise<readonly T[]>,
  ): Promise<T[]> {
    const lists = (await this.#providersFor(principal)).map(async (provider) => {
      try {
        return await ask(provider);
      } catch (error) {
        this.#report("resource.provider", { error });
        return [];
      }
    });
    return (await Promise.all(lists)).flat();
  }
}
