import type * as x509 from "@peculiar/x509";

/** What @peculiar/x509 asks of a polyfill of `Reflect` while it loads, and never again. */
const ASKED = ["getMetadata", "getOwnMetadata", "defineMetadata"] as const;

type Library = typeof x509;

let library: Promise<Library> | undefined;

/**
 * Loads the library that makes certificates. It takes longer to load than all else that is done
 * with them, so it is loaded only when one has to be made.
 */
export function loadX509(): Promise<Library> {
  library ??= load();
  return library;
}

/**
 * The library refuses to load without type metadata, though it uses none. Functions that know
 * nothing serve it while it loads; left in place, they would serve others who do need them.
 */
async function load(): Promise<Library> {
  const added = ASKED.filter((name) => !(name in Reflect));
  for (const name of added) {
    Object.defineProperty(Reflect, name, { value: () => undefined, configurable: true });
  }
  try {
    return await import("@peculiar/x509");
  } finally {
    for (const name of added) Reflect.deleteProperty(Reflect, name);
  }
}
