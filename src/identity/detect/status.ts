import type { ConfigScope } from "../../git/config/git-config.ts";
import { type Detection, detectIdentity } from "./detect.ts";
import { identityOfEnvironment } from "../environment.ts";
import { IDENTITY_KEY } from "../git-settings.ts";
import type { Identity } from "../identity.ts";
import type { GitContext } from "./git-context.ts";

/** Which identity git uses in a folder, and which it should use. */
export interface IdentityStatus {
  readonly worktree: string | undefined;
  /** Also of a bare repository. */
  readonly gitDir: string | undefined;
  /** The author of commits. Variables override files, as in git. */
  readonly author: { readonly name: string | undefined; readonly email: string | undefined };
  readonly signing: {
    readonly commits: boolean;
    readonly tags: boolean;
    readonly format: string;
    readonly key: string | undefined;
  };
  readonly sshCommand: string | undefined;
  /** The identity that was switched to, and in what scope. */
  readonly switched: { readonly identity: string; readonly scope: ConfigScope } | undefined;
  /** The identity that has the author's address. */
  readonly current: string | undefined;
  readonly detected: Detection;
  /** Whether the current identity is the detected one; undefined if none was detected. */
  readonly isRight: boolean | undefined;
}

export async function identityStatus(
  identities: readonly Identity[],
  context: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<IdentityStatus> {
  const { config, repository } = context;
  const detected = await detectIdentity(identities, context);
  const author = {
    name: env.GIT_AUTHOR_NAME ?? config.get("author.name") ?? config.get("user.name"),
    email: env.GIT_AUTHOR_EMAIL ?? config.get("author.email") ?? config.get("user.email"),
  };
  const mark = config.last(IDENTITY_KEY);
  const ofEnvironment = identityOfEnvironment(env);
  const switched =
    ofEnvironment !== undefined
      ? { identity: ofEnvironment, scope: "command" as const }
      : mark && { identity: mark.value ?? "", scope: mark.scope };
  const current = currentIdentity(identities, author, switched?.identity);
  return {
    worktree: repository?.worktree,
    gitDir: repository?.gitDir,
    author,
    signing: {
      commits: config.isTrue("commit.gpgSign"),
      tags: config.isTrue("tag.gpgSign"),
      format: config.get("gpg.format") ?? "openpgp",
      key: config.get("user.signingKey"),
    },
    sshCommand: env.GIT_SSH_COMMAND ?? config.get("core.sshCommand"),
    switched,
    current,
    detected,
    isRight: detected.identity === undefined ? undefined : detected.identity === current,
  };
}

/** Among several with the same address, the one that was switched to wins. */
function currentIdentity(
  identities: readonly Identity[],
  { name, email }: IdentityStatus["author"],
  switched: string | undefined,
): string | undefined {
  if (email === undefined) return undefined;
  const same = identities.filter((each) => each.email?.toLowerCase() === email.toLowerCase());
  const named = same.filter((each) => each.displayName === name);
  const likely = named.length > 0 ? named : same;
  return (likely.find((each) => each.name === switched) ?? likely[0])?.name;
}
