import { join } from "node:path";

import { AccessTokens } from "../../store/access/access-tokens.ts";
import { Database } from "../../store/database.ts";
import { Holder, HOLDERS } from "../../store/holder.ts";
import { REVIEW_MIGRATIONS } from "../../store/review/reviews-schema.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { REVIEWS_FILE } from "../../store/store-files.ts";
import { RuleKind, TextKind } from "./rule-kind.ts";
import type { SharedKind } from "./shared-base.ts";
import { SharedState, type SharedStateOptions } from "./shared-state.ts";
import { ThreadKind } from "./thread-kind.ts";
import { TokenKind } from "./token-kind.ts";

/** The stores of a data folder that are shared. */
export interface SharedStores extends AsyncDisposable {
  readonly kinds: readonly SharedKind[];
  /** What only gateways share. */
  readonly tokens: readonly SharedKind[];
}

/** Shares the tokens of a gateway with the other gateways. */
export async function openTokens(
  { tokens }: Pick<SharedStores, "tokens">,
  options: Omit<SharedStateOptions, "kinds" | "part">,
): Promise<SharedState | undefined> {
  if (tokens.length === 0) return undefined;
  return await SharedState.open({ ...options, kinds: tokens, part: "tokens" });
}

/** A worker lets no clients in, so it has no tokens: whoever controls a worker could add some. */
export async function openSharedStores(
  data: string,
  role: "gateway" | "worker",
): Promise<SharedStores> {
  await using opened = new AsyncDisposableStack();
  const reviews = opened.use(await Database.open(join(data, REVIEWS_FILE), REVIEW_MIGRATIONS));
  const log = opened.use(await SessionLog.open(data));
  const holder = opened.use(Holder.at(join(data, HOLDERS)));
  const tokens = role === "gateway" ? [new TokenKind(new AccessTokens(data))] : [];
  const kinds = [
    new RuleKind(log.database),
    // A thread is shown with the text that it is about.
    new TextKind(reviews),
    new ThreadKind(reviews, () => ({ now: Date.now(), holder })),
  ];
  const owned = opened.move();
  return { kinds, tokens, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
