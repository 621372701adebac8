import { TrunklineError } from "../../base/errors.ts";
import {
  type Amount,
  type Amounts,
  AMOUNTS,
  amountText,
  type Budget,
  budgetShares,
} from "../../base/limit/budget.ts";
import type { PrincipalLimits, Scope } from "../../base/principal.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import { expandPath } from "../../config/locations.ts";
import { untilShared } from "../../fleet/replication/until-shared.ts";
import { OwnerToken, TOKEN_PREFIX } from "../../store/access/access-token.ts";
import type { AccessToken } from "../../store/schema.gen.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { Devices } from "../../store/access/devices.ts";
import type { Device } from "../../store/schema.gen.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { SessionUsage } from "../../store/session/session-usage.ts";
import { ServerLogins } from "../../upstream/open/server-logins.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { print, printJson, table } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";

/** The scopes of a token that is created without --scope. */
const DEFAULT_SCOPES: readonly Scope[] = ["tools"];

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const UNITS: Readonly<Record<string, number>> = {
  m: MINUTE,
  h: 60 * MINUTE,
  d: DAY,
  w: 7 * DAY,
  y: 365 * DAY,
};

type CreateValues = BudgetValues &
  OptionValues<
    "expires" | "profile" | "person",
    "observe",
    "agent" | "tool" | "folder" | "repo"
  > & {
    readonly scope?: readonly Scope[];
  };

/** `trunkline token create [NAME]` */
export async function create(invocation: Invocation<CreateValues>): Promise<number> {
  const { values, positionals, out, err } = invocation;
  const expires = values.expires === undefined ? undefined : expiryOf(values.expires);
  const { profile, person } = values;
  const grant = {
    scopes: [...new Set(values.scope ?? DEFAULT_SCOPES)],
    ...limitsOf(invocation),
    ...(profile === undefined ? {} : { profile }),
    ...(person === undefined ? {} : { person }),
  };
  const { token, kept } = await (await open(invocation)).create(positionals[0], grant, expires);
  if (values.json === true) return printJson(invocation, { token, ...shownOf(kept) });
  out(`${token}\n`);
  const end = kept.expires === undefined ? "" : `, valid until ${timeOf(kept.expires)}`;
  err(`Created token '${kept.name}' (${kept.id})${end}. It is not shown again.\n`);
  err(`It allows: ${grantText(kept)}.\n`);
  await warnOfProfile(invocation);
  if (!(await isShared(invocation, kept, true)))
    err(`Only this node accepts it for now. ${LATER}\n`);
  err("Send it with every request: Authorization: Bearer TOKEN\n");
  return 0;
}

/** `trunkline token list` */
export async function list(invocation: Invocation): Promise<number> {
  const tokens = (await open(invocation)).list();
  const used = await usedToday(invocation, tokens);
  const shown = tokens.map((kept) => ({ ...shownOf(kept), usedToday: used.get(kept.id) }));
  const devices = await loggedIn(invocation);
  const lists = [
    ...(tokens.length === 0 ? [] : [table(listing(tokens, used))]),
    ...(devices.length === 0
      ? []
      : [`Browsers that are logged in:\n${table(deviceRows(devices))}`]),
  ];
  const notes = [
    ...(tokens.length === 0 ? [NO_TOKENS] : []),
    ...(devices.length === 0 ? [NO_DEVICES] : []),
  ];
  const all = { tokens: shown, devices: devices.map(shownDevice) };
  return print(invocation, all, lists.join("\n"), { notes });
}

const NO_TOKENS = "There are no tokens. `trunkline token create NAME` creates one.";
const NO_DEVICES =
  "No browser is logged in. `trunkline open` logs one in, `trunkline open --qr` a phone.";

/** Browsers that are logged in. The file may still list some that a new owner's token has logged out. */
async function loggedIn(invocation: Invocation): Promise<readonly Device[]> {
  const { data } = (await openQuietApp(invocation)).config;
  const { mark } = new OwnerToken(data);
  return new Devices(data).list().filter((device) => device.mark === mark);
}

/** `trunkline token revoke NAME` */
export async function revoke(invocation: Invocation): Promise<number> {
  const { positionals, err } = invocation;
  const [named = ""] = positionals;
  const tokens = await open(invocation);
  const devices = await loggedIn(invocation);
  const isNamed = ({ id, name }: { id: string; name: string }): boolean =>
    id === named || name === named;
  const found = [...tokens.list().filter(isNamed), ...devices.filter(isNamed)];
  if (found.length > 1) {
    const ids = found.map(({ id }) => id).join(", ");
    const why = `more than one has this name. Use an id: ${ids}`;
    throw new TrunklineError("config", `Cannot revoke '${visibleLine(named)}': ${why}.`);
  }
  if (devices.some(isNamed)) return logOut(invocation, named);
  if (found.length === 0 && devices.length > 0 && !named.startsWith(TOKEN_PREFIX)) {
    const [known, browsers] = [tokens.list(), devices].map(
      (list) => list.map(({ name }) => visibleLine(name)).join(", ") || "none",
    );
    const why = `no token or browser has this name or id. Tokens: ${known}. Browsers: ${browsers}`;
    throw new TrunklineError("not-found", `Cannot revoke '${visibleLine(named)}': ${why}.`);
  }
  const kept = await tokens.revoke(named);
  const { name, id } = kept;
  const { data } = (await openQuietApp(invocation)).config;
  const logins = new ServerLogins({ data, env: invocation.env });
  for (const why of await logins.endTokenless(tokens.list(), "owner")) {
    err(`warning: logins at servers are good until they expire at ${visibleLine(why)}\n`);
  }
  print(
    invocation,
    { revoked: shownOf(kept) },
    `Revoked '${visibleLine(name)}' (${visibleLine(id)}).\n`,
  );
  if (await isShared(invocation, kept, false)) return 0;
  err(`The other gateways of the fleet still accept it. ${LATER}\n`);
  return 1;
}

async function logOut(invocation: Invocation, named: string): Promise<number> {
  const device = await new Devices((await openQuietApp(invocation)).config.data).remove(named);
  const text = `Logged out '${visibleLine(device.name)}' (${device.id}).\n`;
  return print(invocation, { revoked: shownDevice(device) }, text);
}

const LATER = "They are told when this node runs and reaches NATS.";

/** Whether the other nodes of a fleet, if there are any, know of a change. */
async function isShared(
  invocation: Invocation,
  { id: key }: AccessToken,
  isThere: boolean,
): Promise<boolean> {
  const { data } = (await openQuietApp(invocation)).config;
  return untilShared(data, { part: "tokens", kind: "token", key, isThere });
}

/** `trunkline token rotate` */
export async function rotate(invocation: Invocation): Promise<number> {
  const owner = new OwnerToken((await openQuietApp(invocation)).config.data);
  await owner.rotate();
  const { path: tokenFile } = owner;
  const says = `Replaced the owner's token in '${visibleLine(tokenFile)}'. The old one is invalid.\n`;
  return print(invocation, { tokenFile }, says);
}

async function open(invocation: Invocation): Promise<AccessTokens> {
  const { config, report } = await openQuietApp(invocation);
  return new AccessTokens(config.data, { report });
}

/** What tokens with a budget have used today (UTC), by their ids. */
async function usedToday(
  invocation: Invocation,
  tokens: readonly AccessToken[],
): Promise<ReadonlyMap<string, Amounts>> {
  const limited = tokens.filter(({ limits }) => limits?.budget !== undefined);
  const used = new Map<string, Amounts>();
  if (limited.length === 0) return used;
  await using log = await SessionLog.open((await openQuietApp(invocation)).config.data);
  const usage = new SessionUsage(log.database);
  const today = new Date().toISOString().slice(0, 10);
  for (const { id } of limited) used.set(id, await usage.ofDay(`token ${id}`, today));
  return used;
}

/** The limits that the options set, with folders as absolute paths. */
function limitsOf({ values, cwd, env }: Invocation<CreateValues>): { limits?: PrincipalLimits } {
  const { agent: agents, tool: tools, repo: repositories } = values;
  const folders = values.folder?.map((folder) => expandPath(folder, cwd, env));
  const given = Object.entries({ agents, tools, folders, repositories });
  const lists = given.filter(([, list]) => list !== undefined);
  const observing = values.observe === true ? { observe: true } : {};
  const limits: PrincipalLimits = {
    ...Object.fromEntries(lists),
    ...budgetLimits(values),
    ...observing,
  };
  return Object.keys(limits).length === 0 ? {} : { limits };
}

/** Only a warning: the gateway may have another configuration than this folder. */
async function warnOfProfile(invocation: Invocation<CreateValues>): Promise<void> {
  const { profile } = invocation.values;
  if (profile === undefined) return;
  const { config } = await openQuietApp(invocation);
  if (Object.hasOwn(config.profiles, profile)) return;
  const next = "Until it is, the token is shown no tools.";
  invocation.err(
    `The profile '${visibleLine(profile)}' is not in the configuration yet. ${next}\n`,
  );
}

/** What a token allows: "tools, review; agents: a". */
function grantText({ scopes, limits = {}, profile, person }: AccessToken): string {
  const { budget: _, concurrent: __, observe, ...named } = limits;
  const lists = Object.entries<readonly string[]>({ ...named }).map(
    ([name, list]) => `${name}: ${list.join(", ")}`,
  );
  const only = observe === true ? ["only observes sessions"] : [];
  const shown = profile === undefined ? [] : [`profile: ${profile}`];
  const whose = person === undefined ? [] : [`person: ${person}`];
  const parts = [scopes.join(", "), ...whose, ...only, ...shown, ...lists, ...budgetText(limits)];
  return visibleLine(parts.join("; "));
}

/** The end of a period that starts now: "30d". */
function expiryOf(text: string): Date {
  const [, count = "", unit = ""] = /^([1-9]\d{0,4})([mhdwy])$/.exec(text) ?? [];
  const milliseconds = Number(count) * (UNITS[unit] ?? 0);
  if (milliseconds === 0 || milliseconds > 100 * 365 * DAY) {
    const why = "write a number and m, h, d, w or y, such as 30d, up to 100y";
    throw new TrunklineError("usage", `Cannot create a token that expires in '${text}': ${why}.`);
  }
  return new Date(Date.now() + milliseconds);
}

/** A token as it is listed, without its hash. */
function shownOf(token: AccessToken): object {
  const { id, name, created, expires, lastUsed, scopes, limits, profile, person } = token;
  const isExpired = expires !== undefined && !(Date.parse(expires) > Date.now());
  return { id, name, person, scopes, limits, profile, created, expires, lastUsed, isExpired };
}

function listing(tokens: readonly AccessToken[], used: ReadonlyMap<string, Amounts>): string[][] {
  return [
    ["NAME", "ID", "CREATED", "EXPIRES", "LAST USED", "ALLOWS"],
    ...tokens.map((kept) => [
      kept.name,
      kept.id,
      timeOf(kept.created),
      expiryText(kept),
      kept.lastUsed === undefined ? "never" : timeOf(kept.lastUsed),
      [grantText(kept), ...usedText(kept, used.get(kept.id))].join("; "),
    ]),
  ];
}

function deviceRows(devices: readonly Device[]): string[][] {
  return [
    ["NAME", "ID", "LOGGED IN", "LAST SEEN", "KIND"],
    ...devices.map(({ id, name, created, lastSeen, isPaired }) => [
      visibleLine(name),
      id,
      timeOf(created),
      timeOf(lastSeen),
      isPaired ? "paired" : "browser",
    ]),
  ];
}

/** A device as it is listed, without the hash of its cookie. */
function shownDevice({ id, name, created, lastSeen, isPaired }: Device): object {
  return { id, name, created, lastSeen, isPaired };
}

function usedText({ limits = {} }: AccessToken, used: Amounts | undefined): string[] {
  if (used === undefined) return [];
  return [`used today: ${budgetShares(limits.budget ?? {}, used).join(", ")}`];
}

function expiryText({ expires }: AccessToken): string {
  if (expires === undefined) return "never";
  return Date.parse(expires) > Date.now() ? timeOf(expires) : "expired";
}

/** To the minute, in local time. */
function timeOf(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return "unknown";
  // Swedish has the order of ISO 8601.
  return date.toLocaleString("sv", { dateStyle: "short", timeStyle: "short" });
}

/** The options of `trunkline token create` that limit what a token may use. */
type BudgetValues = OptionValues<
  "budget-tokens" | "budget-cost" | "budget-steps" | "budget-time" | "concurrent"
>;

const THOUSANDS: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6 };
const SECONDS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3_600 };

export function budgetLimits(values: BudgetValues): Pick<PrincipalLimits, "budget" | "concurrent"> {
  const given = AMOUNTS.flatMap((amount) => {
    const text = values[`budget-${amount}`];
    return text === undefined ? [] : [[amount, amountOf(amount, text)] as const];
  });
  const budget: Budget = Object.fromEntries(given);
  const { concurrent } = values;
  return {
    ...(given.length === 0 ? {} : { budget }),
    ...(concurrent === undefined ? {} : { concurrent: countOf("--concurrent", concurrent) }),
  };
}

/** "10,000 tokens and $5.00 a day; 3 sessions at once"; empty where nothing is limited. */
export function budgetText({ budget = {}, concurrent }: PrincipalLimits): string[] {
  const amounts = AMOUNTS.flatMap((amount) => {
    const limit = budget[amount];
    return limit === undefined ? [] : [amountText(amount, limit)];
  });
  return [
    ...(amounts.length === 0 ? [] : [`${amounts.join(", ")} a day`]),
    ...(concurrent === undefined ? [] : [`${counted(concurrent, "session")} at once`]),
  ];
}

function amountOf(amount: Amount, text: string): number {
  const option = `--budget-${amount}`;
  if (amount === "tokens" || amount === "steps") return countOf(option, text);
  if (amount === "cost") {
    const [, dollars = ""] = /^\$?(\d{1,9}(?:\.\d{1,4})?)$/.exec(text) ?? [];
    if (Number(dollars) > 0) return Number(dollars);
    throw wrong(option, text, "give US dollars, such as 5 or 2.50");
  }
  const [, count = "", unit = ""] = /^(\d{1,9})([smh]?)$/.exec(text) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? 0);
  if (seconds > 0) return seconds;
  throw wrong(option, text, "give a time, such as 90s, 30m or 2h");
}

function countOf(option: string, text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,6})?)([km]?)$/i.exec(text) ?? [];
  const value = Number(count) * (THOUSANDS[unit.toLowerCase()] ?? 0);
  if (value >= 1 && Number.isSafeInteger(value)) return value;
  throw wrong(option, text, "give a whole number, such as 500, 200k or 2M");
}

function wrong(option: string, text: string, next: string): TrunklineError {
  return new TrunklineError("usage", `Cannot use '${text.slice(0, 40)}' for ${option}: ${next}.`);
}
