import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { OWNER, personOf, type Principal } from "../../base/principal.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import { loginsPath } from "../../store/store-files.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";
import { background } from "../../base/background.ts";
import type { AddressSettings } from "../settings.ts";
import type { UpstreamStatus } from "../upstream.ts";
import type { Upstreams } from "../upstreams.ts";
import { hashOf } from "../catalogue-key.ts";
import type { OpenLink } from "../link.ts";
import type { PersonAuthorization, PersonServers, TokensFor } from "./person-servers.ts";
import type { ServerLogins } from "./server-logins.ts";
import type { Config } from "../../config/config.ts";
import { toolPolicy } from "../../config/tool-policy.ts";
import { followConfig, type LiveConfig, type ReloadSource } from "../../config/follow-config.ts";
import type { AppContext } from "../../config/app-context.ts";
import { profilesOf } from "../../config/profiles-of.ts";
import { openToolHooks } from "../../hooks/open/open-tool-hooks.ts";
import type { ToolHooks } from "../../hooks/open/tool-hooks.ts";
import { watchFiles } from "../../config/watch-files.ts";

export interface OpenOfferOptions {
  /** The offer to add to; a new one if left out. */
  readonly offer?: Offer;
  /** Called before the first MCP server is configured. */
  readonly beforeUpstreams?: () => Promise<void>;
  /** Without it the configuration stays as it was at the start. */
  readonly reloading?: ReloadSource;
}

/**
 * Offers what the configuration names. Where it names no MCP servers, nothing for them is loaded.
 */
export async function openOffer(
  app: AppContext,
  options: OpenOfferOptions = {},
): Promise<ConfiguredOffer> {
  const opened = new ConfiguredOffer(app, options);
  await opened.open();
  return opened;
}

/** The offer with the tools of the configured MCP servers. */
export class ConfiguredOffer implements AsyncDisposable {
  readonly offer: Offer;
  readonly #app: AppContext;
  readonly #options: OpenOfferOptions;
  readonly #ends: (() => void)[] = [];
  #table: Config["mcpServers"];
  #upstreams: Upstreams | undefined;
  /** The servers that each person uses as themselves, and what is open of them, by person. */
  #personal: Config["mcpServers"] = {};
  readonly #persons = new Map<string, PersonServers>();
  readonly #changes = new TaskQueue();
  #configuring: Promise<void> | undefined;
  #followsLogins = false;
  #isOver = false;
  /** The settings that decide what clients see, as text. */
  #shown: string;
  /** The settings of the gateway's hooks, as text. */
  #hooked = "{}";
  #hooks: ToolHooks | undefined;

  constructor(app: AppContext, options: OpenOfferOptions) {
    this.offer = options.offer ?? new Offer();
    this.#app = app;
    this.#options = options;
    this.#table = enabledServers(app.config.mcpServers);
    this.#shown = JSON.stringify([app.config.policy, app.config.profiles]);
  }

  /** Starts every configured MCP server, and waits until each is up or has failed. */
  async started(): Promise<void> {
    await this.#upstreams?.started();
    // Only the owner starts all servers.
    const own = await this.#serversOf(OWNER);
    await own?.upstreams.started();
  }

  /** The status of each configured MCP server. */
  status(): UpstreamStatus[] {
    const own = this.#persons.get(personOf(OWNER) ?? "");
    return [...(this.#upstreams?.status() ?? []), ...(own?.upstreams.status() ?? [])];
  }

  /** Ends a configured MCP server and starts it anew. Throws "not-found" where there is none. */
  async restart(name: string): Promise<void> {
    await this.#opened();
    const all = [this.#upstreams, ...this.#persons.values().map(({ upstreams }) => upstreams)];
    const having = all.filter((each) => each?.get(name) !== undefined);
    await Promise.all(having.map(async (each) => each?.restart(name)));
    if (having.length === 0 && !Object.hasOwn(this.#personal, name))
      throw new TrunklineError("not-found", `There is no MCP server '${name}'.`);
  }

  async open(): Promise<void> {
    const { reloading } = this.#options;
    this.offer.waitFor({
      known: (principal) => this.#serversOf(principal)?.then((servers) => servers?.known()),
      opened: (principal) => {
        return this.#openedFor(principal) === undefined ? this.#serversOf(principal) : undefined;
      },
      arrival: (principal) => {
        const servers = this.#openedFor(principal);
        return servers === undefined
          ? this.#serversOf(principal)?.then((opened) => opened?.upstreams.arrival())
          : servers.upstreams.arrival();
      },
      missing: (_, principal) => this.#openedFor(principal)?.upstreams.missing() ?? [],
    });
    this.#ends.push(
      this.offer.tools.onChange(() => {
        for (const { upstreams } of this.#persons.values()) upstreams.refresh();
      }, NOBODY),
    );
    if (Object.keys(this.#table).length > 0) await this.#opened();
    const { log, config } = this.#app;
    await this.#applyHooks(config);
    this.#ends.push(
      followConfig(reloading, log, async (config) => {
        this.offer.tools.policy = new Policy(toolPolicy(config));
        await this.#applyHooks(config);
        return this.#applyProfiles(config);
      }),
      followConfig(reloading, log, ({ mcpServers }) => this.#configure(enabledServers(mcpServers))),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const end of this.#ends) end();
    await this.#configuring?.catch(() => {});
    await Promise.all(this.#persons.values().map((each) => each[Symbol.asyncDispose]()));
    await this.#upstreams?.[Symbol.asyncDispose]();
    await this.#hooks?.[Symbol.asyncDispose]();
  }

  /** Hooks that have not changed go on, with what they have counted. */
  async #applyHooks(config: Pick<LiveConfig, "toolHooks">): Promise<void> {
    const settings = JSON.stringify(config.toolHooks);
    if (settings === this.#hooked) return;
    this.#hooked = settings;
    const before = this.#hooks;
    const { tools } = this.offer;
    this.#hooks = await openToolHooks(this.#app, config, tools.audit);
    tools.hooks = this.#hooks;
    await before?.[Symbol.asyncDispose]();
  }

  /** A changed policy or profile changes the lists that clients see. */
  async #applyProfiles(config: LiveConfig): Promise<void> {
    const text = JSON.stringify([config.policy, config.profiles]);
    if (text === this.#shown) return;
    this.#shown = text;
    const isNeeded = this.offer.profiles !== undefined || Object.keys(config.profiles).length > 0;
    this.offer.profiles = isNeeded ? await profilesOf(config) : undefined;
  }

  /** Resolves when the servers are configured as the configuration last said. */
  #opened(): Promise<void> {
    return this.#configuring ?? this.#configure(this.#table);
  }

  #configure(table: Config["mcpServers"]): Promise<void> {
    this.#table = table;
    const now = this.#changes.run(() => this.#configureNow(table));
    this.#configuring = now;
    now.catch(() => {
      if (this.#configuring === now) this.#configuring = undefined;
    });
    return now;
  }

  async #configureNow(table: Config["mcpServers"]): Promise<void> {
    if (this.#isOver) return;
    const { isPersonal } = await import("../settings.ts");
    const all = Object.entries(table);
    const shared = all.filter(([, settings]) => !isPersonal(settings));
    this.#personal = Object.fromEntries(all.filter(([, settings]) => isPersonal(settings)));
    await Promise.all(this.#persons.values().map((each) => each.configure(this.#personal)));
    if (this.#upstreams === undefined && shared.length === 0) return;
    this.#upstreams ??= await this.#load();
    await this.#upstreams.configure(Object.fromEntries(shared));
  }

  /** The servers that a person uses as themselves, where they are open. */
  #openedFor(principal: Principal | undefined): PersonServers | undefined {
    return principal && this.#persons.get(personOf(principal) ?? NOBODY);
  }

  /** The same, opened if need be. Undefined where there are none. */
  #serversOf(principal: Principal | undefined): Promise<PersonServers | undefined> | undefined {
    const person = principal && personOf(principal);
    if (person === undefined || Object.keys(this.#personal).length === 0) return undefined;
    return this.#changes.run(async () => {
      const known = this.#persons.get(person);
      if (known !== undefined || this.#isOver) return known;
      const made = await this.#openFor(person, principal as Principal);
      await made.configure(this.#personal);
      return made;
    });
  }

  async #openFor(person: string, principal: Principal): Promise<PersonServers> {
    await this.#options.beforeUpstreams?.();
    const { PersonServers } = await import("./person-servers.ts");
    const { config, log } = this.#app;
    const connect = await this.#connecting();
    const close = (which: string): void => {
      const servers = this.#persons.get(which);
      this.#persons.delete(which);
      background(servers?.[Symbol.asyncDispose]() ?? Promise.resolve(), "Closing servers");
    };
    const servers: PersonServers = new PersonServers({
      ...{ log, offer: this.offer, principal: { ...principal, person } },
      folder: join(config.data, "upstreams", `person-${hashOf(person)}`),
      channelLimits: config.limits,
      unused: () => close(person),
      connect,
      tokensOf: (name, settings) => this.#tokensOf(person, name, settings),
    });
    this.#persons.set(person, servers);
    const [oldest = ""] = this.#persons.keys();
    if (this.#persons.size > MOST_PERSONS) close(oldest);
    return servers;
  }

  async #load(): Promise<Upstreams> {
    await this.#options.beforeUpstreams?.();
    const { Upstreams } = await import("../upstreams.ts");
    const { config, log } = this.#app;
    const connect = await this.#connecting();
    const upstreams = new Upstreams({
      offer: this.offer,
      folder: join(config.data, "upstreams"),
      log,
      channelLimits: config.limits,
      open: connect(async (name, resolved) => {
        return (await this.#openLogins()).tokensFor(name, resolved, log);
      }),
    });
    this.offer.waitFor(upstreams);
    return upstreams;
  }

  /** Makes the function that connects to a server with given tokens. */
  async #connecting(): Promise<(tokens: TokensFor) => OpenLink> {
    const { serverReferences } = await import("./server-references.ts");
    const { withReferences } = await import("../references.ts");
    const { withHelpedHeaders } = await import("./headers-helper.ts");
    const { openLink } = await import("../link.ts");
    const { isAddress } = await import("../settings.ts");
    const references = serverReferences(this.#app);
    return (tokens) => async (settings, events, limits, name) => {
      const resolved = await withHelpedHeaders(await withReferences(settings, references), name);
      const authorization = isAddress(resolved) ? await tokens(name, resolved) : undefined;
      return openLink(resolved, events, limits, { authorization });
    };
  }

  /** Somebody has logged in or out: servers that are down may have waited for that. */
  async #retryDown(): Promise<void> {
    this.#upstreams?.wake();
    await Promise.all(this.#persons.values().map((each) => each.wake()));
  }

  async #openLogins(): Promise<ServerLogins> {
    const { ServerLogins } = await import("./server-logins.ts");
    const { config } = this.#app;
    if (!this.#followsLogins) {
      this.#followsLogins = true;
      this.#ends.push(
        watchFiles([loginsPath(config.data)], () =>
          background(this.#retryDown(), "Trying servers again"),
        ),
      );
    }
    return new ServerLogins({ data: config.data, env: process.env });
  }

  /** The tokens with which one person uses a server. */
  async #tokensOf(
    person: string,
    name: string,
    settings: AddressSettings,
  ): Promise<PersonAuthorization> {
    const { loginMistake, identityProviderOf, isLoginless, atProvider } =
      await import("../settings.ts");
    const mistake = loginMistake(settings);
    if (mistake !== undefined) throw new TrunklineError("config", `Its 'login' ${mistake}`);
    const { ExchangedTokens, gatewaySubject, plainExchange } =
      await import("../oauth/exchanged-tokens.ts");
    if (isLoginless(settings)) {
      const subject = gatewaySubject(() => this.#app.subjectTokens.get(person));
      return new ExchangedTokens(subject, plainExchange(settings));
    }
    const logins = await this.#openLogins();
    const page = this.offer.loginPage?.(name);
    const store = logins.ofCaller(person, name, settings);
    const provider = identityProviderOf(settings);
    const place = provider === undefined ? settings : atProvider(provider);
    const tokens = logins.tokensAt(store, name, place, this.#app.log, page);
    if (provider === undefined) return tokens;
    const { managedExchange } = await import("../oauth/managed-exchange.ts");
    return new ExchangedTokens(tokens, managedExchange(settings, provider));
  }
}

/** Persons whose connections are open at once; one more closes those of who came first. */
const MOST_PERSONS = 200;
/** No person has this name. */
const NOBODY = "\n";

/** The servers that are used. */
function enabledServers(table: Config["mcpServers"]): Config["mcpServers"] {
  return Object.fromEntries(Object.entries(table).filter(([, { disabled }]) => disabled !== true));
}
