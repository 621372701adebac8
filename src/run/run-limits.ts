import type { RunLimits, RunLimitSettings } from "../config/schema/schema.gen.ts";
import { entryFor } from "./environment/recipe.ts";

const DEFAULTS = { memory: 4 * 1024 ** 3, processes: 512, cpus: 4 };
const KINDS = ["memory", "cpus", "processes", "disk", "time"] as const;

/** What a run may use; `memory`, `processes` and `cpus` are always limited. */
export type EffectiveLimits = RunLimits & typeof DEFAULTS;

/** The limits of runs on a repository, which those of a token can only lower. */
export function limitsFor(
  { repositories, tokens, ...all }: RunLimitSettings,
  url: string,
  token?: string,
): EffectiveLimits {
  const own = { ...DEFAULTS, ...all, ...entryFor(url, repositories ?? {}) };
  const isKnown = token !== undefined && Object.hasOwn(tokens ?? {}, token);
  const its: RunLimits = (isKnown ? tokens?.[token] : undefined) ?? {};
  const lower = KINDS.flatMap((kind) => {
    const [one, other] = [own[kind] ?? Infinity, its[kind] ?? Infinity];
    return other < one ? [[kind, other] as const] : [];
  });
  return { ...own, ...Object.fromEntries(lower) };
}
