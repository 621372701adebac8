import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { AccessTokens } from "../store/access/access-tokens.ts";
import { withLock } from "../store/replace-file.ts";
import { runningGateways } from "../store/access/running-gateways.ts";
import type { Invocation } from "../cli/shell/command.ts";
import { openQuietApp } from "../cli/shell/open-app.ts";

const TOKEN = /tlk_[\w-]{43}/;

/** How a program on this machine reaches the gateway over HTTP. */
export interface GatewayAccess {
  readonly url: string;
  readonly authorization: { readonly Authorization: string };
  /** Whether its token was created for it now. */
  readonly isNew: boolean;
  /** What a person has to do before it works. */
  readonly note?: string;
}

/** The gateway that runs, or the one that would. */
async function gatewayOf(
  invocation: Invocation,
): Promise<{ data: string; url: string; note?: string }> {
  const { config } = await openQuietApp(invocation);
  const { data, server } = config;
  const [running] = await runningGateways(data);
  if (running !== undefined) {
    const address = running.browser.startsWith("https:") ? running.browser : running.url;
    return { data, url: `${address}/mcp` };
  }
  if (server.port === 0) {
    const says = "Cannot tell the address of the gateway: `server.port` is 0, and none is running.";
    throw new TrunklineError("unavailable", `${says} Start it with \`trunkline serve\`.`);
  }
  const isAny = server.host === "0.0.0.0" || server.host === "::";
  const host = isAny ? "127.0.0.1" : server.host.includes(":") ? `[${server.host}]` : server.host;
  const note = "No gateway is running now: start it with `trunkline serve`.";
  return { data, url: `http://${host}:${server.port}/mcp`, note };
}

/**
 * Access for one program, with a token of its own that can be revoked and allows only tools. The
 * owner's token is never written anywhere else. The token of an entry that is there is used again.
 */
export async function accessFor(
  invocation: Invocation,
  target: string,
  { present, isTrial }: { readonly present: unknown; readonly isTrial: boolean },
): Promise<GatewayAccess> {
  const { data, url, note } = await gatewayOf(invocation);
  const given = invocation.env.TRUNKLINE_TOKEN?.trim();
  const known = tokenIn(present);
  await using tokens = new AccessTokens(data);
  let token = given === "" ? undefined : given;
  if (token === undefined && known !== undefined && tokens.use(known) !== undefined) token = known;
  if (token === undefined && isTrial) token = "TOKEN";
  const isNew = token === undefined;
  if (token === undefined) {
    await revoke(tokens, nameFor(target));
    const scopes = ["tools", "review"] as const;
    ({ token } = await tokens.create(nameFor(target), { scopes: [...scopes] }));
  }
  return { url, authorization: { Authorization: `Bearer ${token}` }, isNew, ...(note && { note }) };
}

/** Revokes the token of a program whose entry has one no more. */
export async function endAccess(
  invocation: Invocation,
  target: string,
  present: unknown,
): Promise<void> {
  if (tokenIn(present) === undefined) return;
  const { config } = await openQuietApp(invocation);
  await using tokens = new AccessTokens(config.data);
  await revoke(tokens, nameFor(target));
}

/**
 * Runs one set-up at a time: two at once would each revoke the token that the other has just written.
 */
export async function oneAtATime<T>(invocation: Invocation, work: () => Promise<T>): Promise<T> {
  const { config } = await openQuietApp(invocation);
  await mkdir(config.data, { recursive: true, mode: 0o700 });
  return withLock(join(config.data, "setup.lock"), work);
}

async function revoke(tokens: AccessTokens, name: string): Promise<void> {
  if (tokens.list().some((each) => each.name === name)) await tokens.revoke(name);
}

function nameFor(target: string): string {
  return `setup-${target}`;
}

/** The token in an entry, in whichever of its fields. */
function tokenIn(entry: unknown): string | undefined {
  return TOKEN.exec(JSON.stringify(entry) ?? "")?.[0];
}
