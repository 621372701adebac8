/** An object without those of its members that are undefined. */
export function defined<T extends object>(members: { [K in keyof T]: T[K] | undefined }): T {
  const set = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as T;
}
