import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

import { STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { JsonObject } from "../json-object.ts";

/**
 * The content of `requestState`. It comes back through the client, so it is signed (MCP 2026-07-28,
 * basic/patterns/mrtr § Server Requirements).
 */
interface State {
  /** The key of the work that waits. */
  readonly rounds: string;
  /** Counts the questions of that work: an earlier state is not accepted again. */
  readonly pause: number;
  /** The request that they belong to. */
  readonly digest: string;
  readonly principal: string;
  readonly expires: number;
}

const KEY = randomBytes(32);

export function sealState(state: State): string {
  const body = Buffer.from(JSON.stringify(state)).toString("base64url");
  return `${body}.${sign(body)}`;
}

/** Verifies signature, request, principal and expiry, and returns the state. */
export function openState(text: string, digest: string, principal: string, now: number): State {
  const dot = text.indexOf(".");
  const body = text.slice(0, Math.max(dot, 0));
  const signature = text.slice(dot + 1);
  const expected = Buffer.from(sign(body));
  const given = Buffer.from(signature);
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) {
    throw refused("was not made here, or was changed");
  }
  const state = JSON.parse(Buffer.from(body, "base64url").toString()) as State;
  if (state.digest !== digest) throw refused("belongs to another request");
  if (state.principal !== principal) throw refused("belongs to another client");
  if (state.expires < now) throw expired();
  return state;
}

/** A digest of the method and the parameters, without what differs between round trips. */
export function digestOf(method: string, params: JsonObject): string {
  const { _meta, inputResponses: _, requestState: __, ...rest } = params;
  return createHash("sha256")
    .update(JSON.stringify([method, rest]))
    .digest("base64url");
}

function sign(body: string): string {
  return createHmac("sha256", KEY).update(body).digest("base64url");
}

/** The error for work that is over or was given up. */
export function expired(): RpcError {
  return refused("has expired; call again without it");
}

function refused(why: string): RpcError {
  return RpcError.of(STANDARD.invalidParams, `'params.requestState' ${why}`);
}
