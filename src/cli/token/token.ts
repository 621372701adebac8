import { type Amounts, budgetShares } from "../../base/limit/budget.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { PrincipalLimits, Scope } from "../../base/principal.ts";
import type { AccessToken } from "../../store/access/access-token.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { OwnerToken } from "../../store/access/owner-token.ts";
import { expandPath } from "../../config/locations.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { budgetLimits, budgetText, type BudgetValues } from "./budget-options.ts";

type Printing = { readonly json?: boolean };

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

interface CreateValues extends BudgetValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly json?: boolean;
  readonly expires?: string;
  readonly observe?: boolean;
  readonly profile?: string;
  readonly scope?: readonly Scope[];
  readonly agent?: readonly string[];
  readonly tool?: readonly string[];
  readonly folder?: readonly string[];
  readonly repo?: readonly string[];
}

/** `trunkline token create [NAME]` */
export async function create(invocation: Invocation<CreateValues>): Promise<number> {
  const { values, positionals, out, err } = invocation;
  const expires = values.expires === undefined ? undefined : expiryOf(values.expires);
  const { profile } = values;
  const grant = {
    scopes: [...new Set(values.scope ?? DEFAULT_SCOPES)],
    ...limitsOf(invocation),
    ...(profile === undefined ? {} : { profile }),
  };
  const { token, kept } = await (await open(invocation)).create(positionals[0], grant, expires);
  if (values.json) {
    out(`${JSON.stringify({ token, ...shownOf(kept) }, null, 2)}\n`);
    return 0;
  }
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
export async function list(invocation: Invocation<Printing>): Promise<number> {
  const { values, out, err } = invocation;
  const tokens = (await open(invocation)).list();
  const used = await usedToday(invocation, tokens);
  const shown = tokens.map((kept) => ({ ...shownOf(kept), usedToday: used.get(kept.id) }));
  if (values.json) out(`${JSON.stringify({ tokens: shown }, null, 2)}\n`);
  else if (tokens.length > 0) out(table(tokens, used));
  else err("There are no tokens. `trunkline token create NAME` creates one.\n");
  return 0;
}

/** `trunkline token revoke NAME` */
export async function revoke(invocation: Invocation<Printing>): Promise<number> {
  const { values, positionals, out, err } = invocation;
  const kept = await (await open(invocation)).revoke(positionals[0] ?? "");
  const { name, id } = kept;
  if (values.json) out(`${JSON.stringify({ revoked: shownOf(kept) }, null, 2)}\n`);
  else out(`Revoked '${visibleLine(name)}' (${visibleLine(id)}).\n`);
  if (await isShared(invocation, kept, false)) return 0;
  err(`The other gateways of the fleet still accept it. ${LATER}\n`);
  return 1;
}

const LATER = "They are told when this node runs and reaches NATS.";

/** Whether the other nodes of a fleet, if there are any, know of a change. */
async function isShared(
  invocation: Invocation,
  { id: key }: AccessToken,
  isThere: boolean,
): Promise<boolean> {
  const { data } = (await openQuietApp(invocation)).config;
  const { untilShared } = await import("../../fleet/replication/until-shared.ts");
  return untilShared(data, { part: "tokens", kind: "token", key, isThere });
}

/** `trunkline token rotate` */
export async function rotate(invocation: Invocation<Printing>): Promise<number> {
  const { values, out } = invocation;
  const owner = new OwnerToken((await openQuietApp(invocation)).config.data);
  await owner.rotate();
  const { path: tokenFile } = owner;
  if (values.json) out(`${JSON.stringify({ tokenFile }, null, 2)}\n`);
  else out(`Replaced the owner's token in '${visibleLine(tokenFile)}'. The old one is invalid.\n`);
  return 0;
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
  const { SessionLog } = await import("../../store/session/session-log.ts");
  const { SessionUsage } = await import("../../store/session/session-usage.ts");
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

/** The configuration of the gateway may be another one than that of this folder: so no error. */
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
function grantText({ scopes, limits = {}, profile }: AccessToken): string {
  const { budget: _, concurrent: __, observe, ...named } = limits;
  const lists = Object.entries<readonly string[]>({ ...named }).map(
    ([name, list]) => `${name}: ${list.join(", ")}`,
  );
  const only = observe === true ? ["only observes sessions"] : [];
  const shown = profile === undefined ? [] : [`profile: ${profile}`];
  const parts = [scopes.join(", "), ...only, ...shown, ...lists, ...budgetText(limits)];
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
  const { id, name, created, expires, lastUsed, scopes, limits, profile } = token;
  const isExpired = expires !== undefined && !(Date.parse(expires) > Date.now());
  return { id, name, scopes, limits, profile, created, expires, lastUsed, isExpired };
}

function table(tokens: readonly AccessToken[], used: ReadonlyMap<string, Amounts>): string {
  const rows = [
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
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const lines = rows.map((row) => {
    return row.map((cell, at) => visibleLine(cell).padEnd(widths?.[at] ?? 0)).join("  ");
  });
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
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
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
