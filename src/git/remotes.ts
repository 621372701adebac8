import type { GitConfig } from "./config/git-config.ts";

/** A URL as configured, and as git uses it. */
export interface RemoteAddress {
  readonly raw: string;
  readonly effective: string;
}

export interface Remote {
  readonly name: string;
  readonly fetch: readonly RemoteAddress[];
  readonly push: readonly RemoteAddress[];
}

/** `url.BASE.insteadOf`: what begins with `prefix` begins with `base` instead. */
interface UrlRewrite {
  readonly base: string;
  readonly prefix: string;
}

/** The remotes, the one that pushes go to by default first, then `origin`. */
export function remotesOf(config: GitConfig): Remote[] {
  const instead = rewritesOf(config, "insteadof");
  const pushInstead = rewritesOf(config, "pushinsteadof");
  const address = (raw: string): RemoteAddress => ({
    raw,
    effective: rewritten(raw, instead) ?? raw,
  });
  const names = new Set([
    ...config.subsections("remote", "url"),
    ...config.subsections("remote", "pushurl"),
  ]);
  const remotes = [...names].map((name) => {
    const urls = listed(config, `remote.${name}.url`);
    const pushUrls = listed(config, `remote.${name}.pushurl`);
    // `pushInsteadOf` applies only if no pushurl is set, and then URLs that it does not match are
    // not pushed to (git's remote.c).
    const pushed = urls.flatMap((raw) => {
      const effective = rewritten(raw, pushInstead);
      return effective === undefined ? [] : [{ raw, effective }];
    });
    const push =
      pushUrls.length > 0 ? pushUrls.map(address) : pushed.length > 0 ? pushed : urls.map(address);
    return { name, fetch: urls.map(address), push };
  });
  const rank = ({ name }: Remote): number => {
    if (name === config.get("remote.pushDefault")) return 0;
    return name === "origin" ? 1 : 2;
  };
  return remotes.toSorted((a, b) => rank(a) - rank(b));
}

/** Since git 2.46 an empty value resets the list; older versions fail on it. */
function listed(config: GitConfig, key: string): string[] {
  const values = config.values(key);
  return values.slice(values.lastIndexOf("") + 1);
}

function rewritesOf(config: GitConfig, name: string): UrlRewrite[] {
  return config.subsections("url", name).flatMap((base) => {
    return config.values(`url.${base}.${name}`).map((prefix) => ({ base, prefix }));
  });
}

/** The longest prefix wins, the first among equals. */
function rewritten(url: string, rewrites: readonly UrlRewrite[]): string | undefined {
  let best: UrlRewrite | undefined;
  for (const rewrite of rewrites) {
    if (!url.startsWith(rewrite.prefix)) continue;
    if (best === undefined || rewrite.prefix.length > best.prefix.length) best = rewrite;
  }
  return best === undefined ? undefined : best.base + url.slice(best.prefix.length);
}
