import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import { LoopBudget } from "../base/limit/loop-budget.ts";
import { Throttle } from "../base/limit/rate-limiter.ts";
import { visibleLine } from "../base/text/visible.ts";
import { PLUGIN_UNIT, problemOfName } from "../protocol/bus/certificates/certificates.ts";
import { type Guard, Ledger, type LedgerLimits } from "../protocol/bus/serve.ts";
import type { PluginManifest } from "../protocol/bus/plugin.gen.ts";
import { STDIO_CALLER } from "../protocol/bus/shape/tool-shape.ts";
import { ConnectionError } from "../wire/quic/connection-error.ts";
import type { Connection, PeerCertificate } from "../wire/quic/connection.ts";
import { SHARED, approving, covers, isOwnTopic } from "./plugin/permissions.ts";
import type { PluginSettings } from "./plugin/settings.ts";

/** The certificate that `trunkline plugin` shows. */
export const CONTROL_NAME = "trunkline-control";
/** The certificate that the bridge shows. */
export const BRIDGE_NAME = `${STDIO_CALLER}-client`;

/** Certificates of clients end like this. */
const CLIENT = /-client$/;
/** Programs that bring clients of another protocol to the bus. */
const TRANSPORT = /^transport\./;
/** Names of our own certificates: a plugin with one of them would be mistaken for us. */
const RESERVED = new RegExp(
  `^(?:ca|orchestrator|orchestrator-to-.*|${CONTROL_NAME}|${STDIO_CALLER}|.*-client)$`,
  "i",
);
/** Entries of a manifest; it is kept for as long as the bus runs. */
const MOST_ENTRIES = 10_000;
const LONGEST_ENTRY = 1_000;

/** Who is behind a connection. */
export interface Guest {
  /** The name in its certificate, which cannot be forged. */
  readonly name: string;
  readonly isPlugin: boolean;
  /** Whether a person has approved what it may call: its manifest does not count then. */
  readonly isApproved?: boolean;
  /** Whether it may call a tool; `owner` is the plugin that brings it, if one does. */
  readonly mayCall: (tool: string, owner: string | undefined) => boolean;
  /** Whose documents it uses; undefined for a plugin that nobody has approved. */
  readonly namespace: string | undefined;
  readonly mayPublish: (topic: string) => boolean;
  readonly maySubscribe: (topic: string) => boolean;
}

/** What the configuration says of a plugin's rights on the bus. */
export type PluginRights = Pick<PluginSettings, "needsTools" | "permissions"> &
  Partial<Pick<PluginSettings, "providesStorage" | "providesAi">>;

/** The rights to documents and events of everybody but plugins with permissions. */
const UNLIMITED = { namespace: SHARED, mayPublish: () => true, maySubscribe: () => true };

export interface GuestsOptions {
  /** Undefined when there is no plugin of that id. */
  readonly rightsOf: (id: string) => PluginRights | undefined;
}

/**
 * The programs that have dialled the bus, and what they may do by their certificates.
 *
 * A plugin may call its own tools and those that it said it needs, whether it has registered or not:
 * that it is a plugin shows in its certificate, or in its id being that of one. The bridge and
 * `trunkline plugin`, which the owner starts, may call whatever the policy allows. Anybody else whom
 * the authority has made a certificate for may call the tools of plugins, and none of the program.
 */
export type Guests = ReturnType<typeof newGuests>;

export function newGuests(options: GuestsOptions) {
  /** Plugins redial, so their manifest applies to each of their connections. */
  const manifests = new Map<string, PluginManifest>();
  /** Whether a certificate is that of a plugin. */
  const isPlugin = (peer: PeerCertificate): boolean => {
    const name = nameOf({ peer });
    const isKnown = manifests.has(name) || options.rightsOf(name) !== undefined;
    return isKnown || peer.unit === PLUGIN_UNIT;
  };
  const plugin = (name: string): Guest => {
    const { needsTools = [], permissions } = options.rightsOf(name) ?? {};
    const said = manifests.get(name)?.needsTools ?? [];
    // The approval of a person counts, not the manifest.
    const needed = permissions === undefined ? said : (permissions.tools ?? []);
    const mayCall = (tool: string, owner: string | undefined): boolean =>
      owner === name || covers(needsTools, tool) || covers(needed, tool);
    const guest = { name, isPlugin: true, isApproved: permissions !== undefined, mayCall };
    if (permissions === undefined) return { ...UNLIMITED, ...guest };
    const { namespace, publish = [], subscribe = [] } = permissions;
    const mayUse = (topics: readonly string[]) => (topic: string) =>
      isOwnTopic(name, topic) || covers(topics, topic);
    return { ...guest, namespace, mayPublish: mayUse(publish), maySubscribe: mayUse(subscribe) };
  };
  return {
    /** Why the plugin may not register, if it may not. */
    register(connection: Connection, manifest: PluginManifest): string | undefined {
      const name = nameOf(connection);
      if (connection.peer === undefined) return "a plugin must show a certificate";
      if (name !== manifest.id) return `the certificate is that of '${name}'`;
      const lists = Object.values(manifest).flat();
      const entries = lists.filter((entry) => typeof entry === "string");
      if (entries.length > MOST_ENTRIES || entries.some((entry) => entry.length > LONGEST_ENTRY)) {
        return `a manifest has at most ${MOST_ENTRIES} entries of ${LONGEST_ENTRY} characters`;
      }
      const more = unapproved(manifest, options.rightsOf(name));
      if (more !== undefined)
        return `it provides ${more}, which nobody approved. ${approving(name)}`;
      manifests.set(name, manifest);
      return undefined;
    },
    /** A plugin has ended: its manifest does not count for the next one with that id. */
    forget: (id: string): boolean => manifests.delete(id),
    isPlugin,
    manifestOf: (id: string): PluginManifest | undefined => manifests.get(id),
    of({ peer }: Connection): Guest {
      const name = nameOf({ peer });
      if (peer !== undefined && isPlugin(peer)) return plugin(name);
      if (peer === undefined || TRANSPORT.test(name) || name === CONTROL_NAME) {
        return { ...UNLIMITED, name, isPlugin: false, mayCall: () => true };
      }
      return { ...UNLIMITED, name, isPlugin: false, mayCall: (_, owner) => owner !== undefined };
    },
  };
}

/** Why no plugin can have that id, if none can. */
export function problemOfId(id: string): string | undefined {
  if (RESERVED.test(id)) return "its certificate would be that of another program";
  // Its folder has this name, and is removed when it ends.
  return problemOfName(id) ?? problemOfName(`orchestrator-to-${id}`);
}

/** Throws where no plugin can have that id. */
export function checkPluginId(id: string): void {
  const problem = problemOfId(id);
  if (problem === undefined) return;
  const whom = `a plugin '${visibleLine(id)}'`;
  throw new TrunklineError("config", `Cannot have ${whom}: ${problem}. Rename it.`);
}

/** Who is behind a connection, by its certificate. */
export function nameOf({ peer }: Pick<Connection, "peer">): string {
  return peer === undefined ? "anonymous" : peer.name.replace(CLIENT, "");
}

/** The first thing that a plugin provides without approval, in words. */
function unapproved(manifest: PluginManifest, rights: PluginRights = {}): string | undefined {
  const { permissions, providesStorage = [], providesAi = [] } = rights;
  if (permissions === undefined) return undefined;
  const { provides = {}, publish = [] } = permissions;
  const own = manifest.providesEvents.filter((topic) => isOwnTopic(manifest.id, topic));
  const kinds: [what: string, names: readonly string[], approved: readonly string[]][] = [
    ["tool", manifest.providesTools, provides.tools ?? ["*"]],
    ["prompt", manifest.providesPrompts, provides.prompts ?? ["*"]],
    ["storage", manifest.providesStorage, [...(provides.storage ?? []), ...providesStorage]],
    ["AI provider", manifest.providesAi, [...(provides.ai ?? []), ...providesAi]],
    ["transport", manifest.providesTransport, provides.transport ?? []],
    ["topic", manifest.providesEvents, [...publish, ...own]],
  ];
  for (const [what, names, approved] of kinds) {
    const name = names.find((one) => !covers(approved, one));
    if (name !== undefined) return `the ${what} '${visibleLine(name)}'`;
  }
  return undefined;
}

/**
 * One authority signs the certificates of all programs of the bus, and every certificate is good for
 * this machine. So whoever dials has to compare the name too. Closes the connection of another.
 */
export async function expectPlugin(connection: Connection, id: string): Promise<Connection> {
  const name = connection.peer?.name;
  if (name === id) return connection;
  return refuse(connection, `'${name ?? "nobody"}' serves there, not plugin '${id}'`);
}

export async function expectOrchestrator(connection: Connection): Promise<Connection> {
  if (!isPlugin(connection)) return connection;
  const name = connection.peer?.name ?? "";
  return refuse(connection, `plugin '${name}' serves there, not an orchestrator`);
}

/** Whether a plugin is at the other end, by its certificate. */
export function isPlugin({ peer }: Connection): boolean {
  return peer?.unit === PLUGIN_UNIT;
}

async function refuse(connection: Connection, why: string): Promise<never> {
  await connection.close();
  throw new ConnectionError(
    "wrong-name",
    `Cannot use the connection to ${connection.address}: ${why}.`,
  );
}

/** The limits of one plugin, or of one connection of any other program. */
export const GUEST_LIMITS: LedgerLimits = { exchanges: 2_048, bytes: 128 * 1024 * 1024 };

/**
 * Keeps one guest from slowing down the others: each has a limit of requests and bytes under way, and
 * a share of each turn of the event loop. All connections of a plugin share one limit; a bridge has
 * one for each connection, since many bridges have the same name.
 */
export function guestGuard(
  guestOf: (connection: Connection) => Pick<Guest, "name" | "isPlugin">,
  limits: LedgerLimits = GUEST_LIMITS,
): Guard {
  const ofPlugins = new Map<string, Ledger>();
  const ofOthers = new WeakMap<Connection, Ledger>();
  const budgets = new WeakMap<Ledger, LoopBudget>();
  const make = (): Ledger => new Ledger(limits);
  return {
    ledgerOf(connection) {
      const { name, isPlugin } = guestOf(connection);
      if (isPlugin) return ofPlugins.getOrInsertComputed(name, make);
      return ofOthers.getOrInsertComputed(connection, make);
    },
    begin(ledger, work) {
      const budget = budgets.getOrInsertComputed(ledger, () => new LoopBudget(2, 32));
      background(budget.run(work), "Answering on the bus");
    },
  };
}

type Report = (event: string, fields: Record<string, unknown>) => void;

/** Reports of one kind that are passed on in a stretch of time. */
const RATE = { limit: 20, windowMs: 10_000 };

/**
 * Limits how often each guest's faults are logged, so that one guest cannot fill the log. The next
 * report says how many were left out.
 */
export function boundedReport(report: Report, now?: () => number): Report {
  const throttle = new Throttle(RATE, now);
  return (event, fields) => {
    // Each guest has its own limit.
    const who = fields.peer ?? fields.owner;
    const leftOut = throttle.take(typeof who === "string" ? `${event} ${who}` : event);
    if (leftOut !== undefined) report(event, leftOut === 0 ? fields : { ...fields, leftOut });
  };
}
