import type { Credentials } from "../../src/git/server/pin-connection.ts";

/** For remotes that need none. */
export const NO_CREDENTIALS: Credentials = { scope: "" };
