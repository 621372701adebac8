import { join } from "node:path";

import { AccessTokens } from "../../store/access/access-tokens.ts";
import { Database } from "../../store/database.ts";
import { Holder, HOLDERS } from "../../store/holder.ts";
import { REVIEW_MIGRATIONS } from "../../store/review/reviews-schema.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { REVIEWS_FILE } from "../../store/store-files.ts";
import { RuleKind, TextKind } from "./rule-kind.ts";
import type { SharedKind } from "./shared-base.ts";
import { SharedState } from "./shared-state.ts";
import type { SharedStoreOptions } from "./shared-store.ts";
import { ThreadKind } from "./thread-kind.ts";
import { TokenKind } from "./token-kind.ts";

/**
 * Shares the stores of a data folder, and `more`. `revoked` is called when another node has revoked tokens. A worker lets no clients in, so it has no tokens:
 * whoever controls a worker could add some.
 */
export async function shareStores(
  sharing: SharedStoreOptions,
  role: "gateway" | "worker",
  more: readonly SharedKind[] = [],
  revoked?: () => void,
) {
  const { data } = sharing;
  await using opened = new AsyncDisposableStack();
  const reviews = opened.use(await Database.open(join(data, REVIEWS_FILE), REVIEW_MIGRATIONS));
  const log = opened.use(await SessionLog.open(data));
  const holder = opened.use(Holder.at(join(data, HOLDERS)));
  const kinds = [
    new RuleKind(log.database),
    // A thread is shown with the text that it is about.
    new TextKind(reviews),
    new ThreadKind(reviews, () => ({ now: Date.now(), holder })),
    ...more,
  ];
  const state = opened.use(await SharedState.open({ ...sharing, kinds }));
  let tokens: SharedState | undefined;
  if (role === "gateway") {
    const tokenKinds = [new TokenKind(new AccessTokens(data), revoked)];
    const options = { ...sharing, kinds: tokenKinds, part: "tokens" } as const;
    tokens = opened.use(await SharedState.open(options));
  }
  const owned = opened.move();
  return { state, tokens, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
