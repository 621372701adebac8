import { TrunklineError } from "../../../base/errors.ts";

export interface Dependent {
  readonly id: string;
  readonly dependsOn: readonly string[];
}

/**
 * Groups of plugins that may be started together, in order: each depends only on earlier groups.
 * Dependencies that are not in the list are ignored. Throws if plugins depend on each other in a circle.
 */
export function startOrder<P extends Dependent>(plugins: readonly P[]): P[][] {
  const ids = new Set(plugins.map(({ id }) => id));
  const started = new Set<string>();
  const waves: P[][] = [];
  let waiting = plugins;
  while (waiting.length > 0) {
    const isFree = ({ dependsOn }: P): boolean =>
      dependsOn.every((id) => started.has(id) || !ids.has(id));
    const wave = waiting.filter(isFree);
    if (wave.length === 0) throw circular(waiting);
    for (const { id } of wave) started.add(id);
    waiting = waiting.filter(({ id }) => !started.has(id));
    waves.push(wave);
  }
  return waves;
}

/** Each of these depends on another one, so following the dependencies leads into a circle. */
function circular(waiting: readonly Dependent[]): TrunklineError {
  const byId = new Map(waiting.map((plugin) => [plugin.id, plugin]));
  const way: string[] = [];
  let [at] = waiting;
  while (at !== undefined && !way.includes(at.id)) {
    way.push(at.id);
    at = at.dependsOn.map((id) => byId.get(id)).find((next) => next !== undefined);
  }
  const circle = [...way.slice(way.indexOf(at?.id ?? "")), at?.id].join(" → ");
  const next = "Remove one of these from 'depends_on'";
  return new TrunklineError("config", `Plugins need each other in a circle: ${circle}. ${next}`);
}
