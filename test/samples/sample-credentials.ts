import type { Credentials } from "../../src/git/server/credentials.ts";

/** For remotes that need none. */
export const NO_CREDENTIALS: Credentials = { scope: "" };
