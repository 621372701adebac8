import { asker } from "./signing-readiness.ts";

/** Has gpg-agent forget all that it was told, so that it asks again. */
export async function forgetPassphrases(env: NodeJS.ProcessEnv): Promise<void> {
  await asker({ env })("gpgconf", ["--reload", "gpg-agent"]);
}
