import type { GitConfig } from "../../git/config/git-config.ts";

/** Settings by which a connection leads elsewhere, or is no longer checked. */
const TRANSPORT =
  /^http\.(?:.*\.)?(?:proxy|sslverify|sslcainfo|sslcapath|sslbackend|curloptresolve|proxysslcainfo|extraheader)$/s;

/**
 * What a repository's own configuration does to connections. It may come from a stranger, and would
 * get at the token by way of a proxy or a certificate of its own.
 */
export function strangeTransport(config: GitConfig): string | undefined {
  const found = config.entries.find(({ key, scope }) => {
    return (scope === "local" || scope === "worktree") && TRANSPORT.test(key);
  });
  if (found === undefined) return undefined;
  const next = "If it is yours, set it with `git config --global` instead";
  return `the repository's own configuration sets ${found.key}, which could give it away. ${next}`;
}
