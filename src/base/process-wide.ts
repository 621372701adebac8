/**
 * One object for all copies of a module in a process: the scripts that editors start contain modules that
 * code which is loaded later contains again.
 */
export function processWide<T extends object>(name: string, make: () => T): T {
  const all = globalThis as unknown as Record<symbol, T | undefined>;
  return (all[Symbol.for(`trunkline.${name}`)] ??= make());
}
