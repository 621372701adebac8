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

export type ConfiguredOffer = Awaited<ReturnType<typeof openOffer>>;

/**
 * Offers what the configuration names, with the tools of the configured MCP servers. Where it names no MCP
 * servers, nothing for them is loaded.
 */
export async function openOffer(app: AppContext, options: OpenOfferOptions = {}) {
  const { offer = new Offer(), reloading } = options;
  const { config, log } = app;
  const ends = new DisposableStack();
  let table = enabledServers(config.mcpServers);
  let upstreams: Upstreams | undefined;
  /** The servers that each person uses as themselves, and what is open of them, by person. */
  let personal: Config["mcpServers"] = {};
  const persons = new Map<string, PersonServers>();
  const changes = new TaskQueue();
  let configuring: Promise<void> | undefined;
  let followsLogins = false;
  /** The settings that decide what clients see, as text. */
  let shown = JSON.stringify([config.policy, config.profiles]);
  /** The settings of the gateway's hooks, as text. */
  let hooked = "{}";
  let hooks: ToolHooks | undefined;

  /** Hooks that have not changed go on, with what they have counted. */
  const applyHooks = async (now: Pick<LiveConfig, "toolHooks">): Promise<void> => {
    const settings = JSON.stringify(now.toolHooks);
    if (settings === hooked) return;
    hooked = settings;
    const before = hooks;
    hooks = await openToolHooks(app, now, offer.tools.audit);
    offer.tools.hooks = hooks;
    await before?.[Symbol.asyncDispose]();
  };

  /** A changed policy or profile changes the lists that clients see. */
  const applyProfiles = async (now: LiveConfig): Promise<void> => {
    const text = JSON.stringify([now.policy, now.profiles]);
    if (text === shown) return;
    shown = text;
    const isNeeded = offer.profiles !== undefined || Object.keys(now.profiles).length > 0;
    offer.profiles = isNeeded ? await profilesOf(now) : undefined;
  };

  /** Makes the function that connects to a server with given tokens. */
  const connecting = async (): Promise<(tokens: TokensFor) => OpenLink> => {
    const { serverReferences } = await import("./server-references.ts");
    const { withReferences } = await import("../references.ts");
    const { withHelpedHeaders } = await import("./headers-helper.ts");
    const { openLink } = await import("../link.ts");
    const { isAddress } = await import("../settings.ts");
    const references = serverReferences(app);
    return (tokens) => async (settings, events, limits, name) => {
      const resolved = await withHelpedHeaders(await withReferences(settings, references), name);
      const authorization = isAddress(resolved) ? await tokens(name, resolved) : undefined;
      return openLink(resolved, events, limits, { authorization });
    };
  };

  /** Somebody has logged in or out: servers that are down may have waited for that. */
  const retryDown = async (): Promise<void> => {
    upstreams?.wake();
    await Promise.all(persons.values().map((each) => each.wake()));
  };

  const openLogins = async (): Promise<ServerLogins> => {
    const { ServerLogins } = await import("./server-logins.ts");
    const retry = (): void => background(retryDown(), "Trying servers again");
    if (!followsLogins && !ends.disposed) ends.defer(watchFiles([loginsPath(config.data)], retry));
    followsLogins = true;
    return new ServerLogins({ data: config.data, env: process.env });
  };

  /** The tokens with which one person uses a server. */
  const tokensOf = async (
    person: string,
    name: string,
    settings: AddressSettings,
  ): Promise<PersonAuthorization> => {
    const { loginMistake, identityProviderOf, isLoginless, atProvider } =
      await import("../settings.ts");
    const mistake = loginMistake(settings);
    if (mistake !== undefined) throw new TrunklineError("config", `Its 'login' ${mistake}`);
    const { ExchangedTokens, gatewaySubject, plainExchange } =
      await import("../oauth/exchanged-tokens.ts");
    if (isLoginless(settings)) {
      const subject = gatewaySubject(() => app.subjectTokens.get(person));
      return new ExchangedTokens(subject, plainExchange(settings));
    }
    const logins = await openLogins();
    const page = offer.loginPage?.(name);
    const store = logins.ofCaller(person, name, settings);
    const provider = identityProviderOf(settings);
    const place = provider === undefined ? settings : atProvider(provider);
    const tokens = logins.tokensAt(store, name, place, log, page);
    if (provider === undefined) return tokens;
    const { managedExchange } = await import("../oauth/managed-exchange.ts");
    return new ExchangedTokens(tokens, managedExchange(settings, provider));
  };

  const load = async (): Promise<Upstreams> => {
    await options.beforeUpstreams?.();
    const { Upstreams: Loaded } = await import("../upstreams.ts");
    const connect = await connecting();
    const loaded = new Loaded({
      ...{ offer, log, folder: join(config.data, "upstreams"), channelLimits: config.limits },
      open: connect(async (name, to) => (await openLogins()).tokensFor(name, to, log)),
    });
    offer.waitFor(loaded);
    return loaded;
  };

  const configureNow = async (): Promise<void> => {
    if (ends.disposed) return;
    const { isPersonal } = await import("../settings.ts");
    const all = Object.entries(table);
    const shared = all.filter(([, settings]) => !isPersonal(settings));
    personal = Object.fromEntries(all.filter(([, settings]) => isPersonal(settings)));
    await Promise.all(persons.values().map((each) => each.configure(personal)));
    if (upstreams === undefined && shared.length === 0) return;
    upstreams ??= await load();
    await upstreams.configure(Object.fromEntries(shared));
  };

  const configure = (): Promise<void> => {
    const now = changes.run(configureNow);
    configuring = now;
    now.catch(() => {
      if (configuring === now) configuring = undefined;
    });
    return now;
  };

  const openFor = async (person: string, principal: Principal): Promise<PersonServers> => {
    await options.beforeUpstreams?.();
    const { PersonServers: Opened } = await import("./person-servers.ts");
    const connect = await connecting();
    const close = (which: string): void => {
      const servers = persons.get(which);
      persons.delete(which);
      background(servers?.[Symbol.asyncDispose](), "Closing servers");
    };
    const servers: PersonServers = new Opened({
      ...{ log, offer, principal: { ...principal, person }, channelLimits: config.limits, connect },
      folder: join(config.data, "upstreams", `person-${hashOf(person)}`),
      unused: () => close(person),
      tokensOf: (name, settings) => tokensOf(person, name, settings),
    });
    persons.set(person, servers);
    const [oldest = ""] = persons.keys();
    if (persons.size > MOST_PERSONS) close(oldest);
    return servers;
  };

  /** The servers that a person uses as themselves, where they are open. */
  const openedFor = (principal: Principal | undefined): PersonServers | undefined =>
    principal && persons.get(personOf(principal) ?? NOBODY);

  /** The same, opened if need be. Undefined where there are none. */
  const serversOf = (
    principal: Principal | undefined,
  ): Promise<PersonServers | undefined> | undefined => {
    const person = principal && personOf(principal);
    if (person === undefined || Object.keys(personal).length === 0) return undefined;
    return changes.run(async () => {
      const known = persons.get(person);
      if (known !== undefined || ends.disposed) return known;
      const made = await openFor(person, principal as Principal);
      await made.configure(personal);
      return made;
    });
  };

  offer.waitFor({
    known: (principal) => serversOf(principal)?.then((servers) => servers?.known()),
    opened: (principal) => (openedFor(principal) === undefined ? serversOf(principal) : undefined),
    arrival: (principal) => {
      const servers = openedFor(principal);
      return servers === undefined
        ? serversOf(principal)?.then((opened) => opened?.upstreams.arrival())
        : servers.upstreams.arrival();
    },
    missing: (_, principal) => openedFor(principal)?.upstreams.missing() ?? [],
  });
  const refresh = (): void => {
    for (const { upstreams: own } of persons.values()) own.refresh();
  };
  ends.defer(offer.tools.onChange(refresh, NOBODY));
  if (Object.keys(table).length > 0) await configure();
  await applyHooks(config);
  const applyAll = async (now: LiveConfig): Promise<void> => {
    offer.tools.policy = new Policy(toolPolicy(now));
    await applyHooks(now);
    return applyProfiles(now);
  };
  ends.defer(followConfig(reloading, log, applyAll));
  const configureAs = ({ mcpServers }: LiveConfig): Promise<void> => {
    table = enabledServers(mcpServers);
    return configure();
  };
  ends.defer(followConfig(reloading, log, configureAs));

  return {
    offer,

    /** Starts every configured MCP server, and waits until each is up or has failed. */
    async started(): Promise<void> {
      await upstreams?.started();
      // Only the owner starts all servers.
      const own = await serversOf(OWNER);
      await own?.upstreams.started();
    },

    /** The status of each configured MCP server. */
    status(): UpstreamStatus[] {
      const own = persons.get(personOf(OWNER) ?? "");
      return [...(upstreams?.status() ?? []), ...(own?.upstreams.status() ?? [])];
    },

    /** Ends a configured MCP server and starts it anew. Throws "not-found" where there is none. */
    async restart(name: string): Promise<void> {
      await (configuring ?? configure());
      const all = [upstreams, ...persons.values().map((each) => each.upstreams)];
      const having = all.filter((each) => each?.get(name) !== undefined);
      await Promise.all(having.map(async (each) => each?.restart(name)));
      if (having.length === 0 && !Object.hasOwn(personal, name))
        throw new TrunklineError("not-found", `There is no MCP server '${name}'.`);
    },

    async [Symbol.asyncDispose](): Promise<void> {
      ends.dispose();
      await configuring?.catch(() => {});
      await Promise.all(persons.values().map((each) => each[Symbol.asyncDispose]()));
      await upstreams?.[Symbol.asyncDispose]();
      await hooks?.[Symbol.asyncDispose]();
    },
  };
}

/** Persons whose connections are open at once; one more closes those of who came first. */
const MOST_PERSONS = 200;
/** No person has this name. */
const NOBODY = "\n";

/** The servers that are used. */
function enabledServers(table: Config["mcpServers"]): Config["mcpServers"] {
  return Object.fromEntries(Object.entries(table).filter(([, { disabled }]) => disabled !== true));
}
