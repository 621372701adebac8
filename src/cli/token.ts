import { TrunklineError } from "../base/errors.ts";
import { accessTokens } from "../gateway/access/open-access.ts";
import type { Invocation } from "./command.ts";
import { visibleLine } from "../base/visible.ts";
import { quietHouse } from "./quiet-house.ts";

type Tokens = ReturnType<typeof accessTokens>;
type Kept = ReturnType<Tokens["list"]>[number];
type Printing = { readonly json?: boolean };

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const UNITS: Readonly<Record<string, number>> = {
  m: MINUTE,
  h: 60 * MINUTE,
  d: DAY,
  w: 7 * DAY,
  y: 365 * DAY,
};

/** `trunkline token create [NAME]` */
export async function create(
  invocation: Invocation<Printing & { readonly expires?: string }>,
): Promise<number> {
  const { values, positionals, out, err } = invocation;
  const expires = values.expires === undefined ? undefined : expiryOf(values.expires);
  const { token, kept } = await (await open(invocation)).create(positionals[0], expires);
  if (values.json) {
    out(`${JSON.stringify({ token, ...shownOf(kept) }, null, 2)}\n`);
    return 0;
  }
  out(`${token}\n`);
  const end = kept.expires === undefined ? "" : `, valid until ${timeOf(kept.expires)}`;
  err(`This is token '${kept.name}' (${kept.id})${end}. It is not shown again.\n`);
  err("Send it with every request: Authorization: Bearer TOKEN\n");
  return 0;
}

/** `trunkline token list` */
export async function list(invocation: Invocation<Printing>): Promise<number> {
  const { values, out, err } = invocation;
  const tokens = (await open(invocation)).list();
  if (values.json) out(`${JSON.stringify({ tokens: tokens.map(shownOf) }, null, 2)}\n`);
  else if (tokens.length > 0) out(table(tokens));
  else err("There are no tokens. `trunkline token create NAME` makes one.\n");
  return 0;
}

/** `trunkline token revoke NAME` */
export async function revoke(invocation: Invocation<Printing>): Promise<number> {
  const { values, positionals, out } = invocation;
  const kept = await (await open(invocation)).revoke(positionals[0] ?? "");
  const { name, id } = kept;
  if (values.json) out(`${JSON.stringify({ revoked: shownOf(kept) }, null, 2)}\n`);
  else out(`Revoked '${visibleLine(name)}' (${visibleLine(id)}).\n`);
  return 0;
}

async function open(invocation: Invocation): Promise<Tokens> {
  return accessTokens(await quietHouse(invocation));
}

/** When a token expires that is to be valid for so long. */
function expiryOf(text: string): Date {
  const [, count = "", unit = ""] = /^([1-9]\d{0,4})([mhdwy])$/.exec(text) ?? [];
  const milliseconds = Number(count) * (UNITS[unit] ?? 0);
  if (milliseconds === 0 || milliseconds > 100 * 365 * DAY) {
    const why = "it is a number with m, h, d, w or y, such as 30d, up to 100y";
    throw new TrunklineError("usage", `Cannot make a token that expires in '${text}': ${why}.`);
  }
  return new Date(Date.now() + milliseconds);
}

/** The hash would let nobody in, but nobody needs it either. */
function shownOf({ id, name, created, expires, lastUsed }: Kept): object {
  const isExpired = expires !== undefined && !(Date.parse(expires) > Date.now());
  return { id, name, created, expires, lastUsed, isExpired };
}

function table(tokens: readonly Kept[]): string {
  const rows = [
    ["NAME", "ID", "CREATED", "EXPIRES", "LAST USED"],
    ...tokens.map((kept) => [
      kept.name,
      kept.id,
      timeOf(kept.created),
      expiryWords(kept),
      kept.lastUsed === undefined ? "never" : timeOf(kept.lastUsed),
    ]),
  ];
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const lines = rows.map((row) => {
    return row.map((cell, at) => visibleLine(cell).padEnd(widths?.[at] ?? 0)).join("  ");
  });
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

function expiryWords({ expires }: Kept): string {
  if (expires === undefined) return "never";
  return Date.parse(expires) > Date.now() ? timeOf(expires) : "expired";
}

/** To the minute, in the time of the reader's clock. */
function timeOf(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return "unknown";
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
