import type { RemoteAddress } from "../../git/remotes.ts";
import { type Detection, detectIdentity } from "./detect.ts";
import { identityOfEnvironment } from "../environment.ts";
import { IDENTITY_KEY } from "../git-settings.ts";
import type { Identity } from "../identity.ts";
import type { GitContext } from "./git-context.ts";

/** Which identity a repository needs, and which is active. */
export interface RightIdentity {
  /** Undefined if that cannot be decided. */
  readonly identity: Identity | undefined;
  /** The name of the active identity: the environment's, else the one that was switched to. */
  readonly acting: string | undefined;
  /** The reason, as text. */
  readonly why: string;
  readonly detection: Detection;
}

/**
 * Decides which identity a repository needs. The active one wins a tie, and counts if none matches,
 * since somebody chose it. An identity that matches better than the active one wins.
 */
export async function rightIdentity(
  identities: readonly Identity[],
  context: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<RightIdentity> {
  const detection = await detectIdentity(identities, context);
  const acting = identityOfEnvironment(env) ?? context.config.get(IDENTITY_KEY);
  const { candidates, explanation } = detection;
  const weight = candidates[0]?.weight;
  const best = candidates.filter((each) => each.weight === weight);
  const chosen = best.find((each) => each.identity === acting);
  const find = (name: string | undefined): Identity | undefined => {
    return identities.find((each) => each.name === name);
  };
  if (chosen !== undefined) {
    return { identity: find(acting), acting, why: `'${acting}' ${chosen.says}.`, detection };
  }
  if (best.length === 0 && acting !== undefined) {
    const identity = find(acting);
    const why =
      identity === undefined
        ? `There is no identity '${acting}'.`
        : `'${acting}' is active, and no other identity matches.`;
    return { identity, acting, why, detection };
  }
  return { identity: find(detection.identity), acting, why: explanation, detection };
}

/** The context with this remote as the only one. */
export function withOnlyRemote(context: GitContext, url: string, name = ""): GitContext {
  const address: RemoteAddress = { raw: url, effective: url };
  return { ...context, remotes: [{ name, fetch: [address], push: [address] }] };
}
