import type { RemoteAddress } from "../../git/remotes.ts";
import { type Detection, detectIdentity } from "./detect.ts";
import { identityOfEnvironment } from "../environment.ts";
import { IDENTITY_KEY } from "../git-settings.ts";
import type { Identity } from "../identity.ts";
import type { GitContext } from "./git-context.ts";

/** Who should act somewhere, and who does. */
export interface RightIdentity {
  /** Nothing where nobody can tell. */
  readonly identity: Identity | undefined;
  /** The name of the identity in force: of the process, or that was switched to. */
  readonly acting: string | undefined;
  /** In words: why it is the right one, or why none is. */
  readonly why: string;
  readonly detection: Detection;
}

/**
 * Which identity is the right one. Of several that fit equally well it is the one in force, and where
 * none fits as well: somebody has chosen it. One that fits better than the one in force wins.
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

/** The surroundings, as if there were this one remote. */
export function withOnlyRemote(context: GitContext, url: string, name = ""): GitContext {
  const address: RemoteAddress = { raw: url, effective: url };
  return { ...context, remotes: [{ name, fetch: [address], push: [address] }] };
}
