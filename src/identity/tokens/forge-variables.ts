import type { Identity } from "../identity.ts";

/** Variables with which programs of forges find their server. */
const HOSTS = ["GH_HOST", "GITLAB_HOST", "GL_HOST", "GITLAB_URI", "GITEA_SERVER_URL"] as const;

/** Variables from which programs of forges take a token. */
const TOKENS = [
  "GH_TOKEN",
  "GITHUB_TOKEN",
  "GH_ENTERPRISE_TOKEN",
  "GITHUB_ENTERPRISE_TOKEN",
  "GITLAB_TOKEN",
  "GITLAB_ACCESS_TOKEN",
  "OAUTH_TOKEN",
  "GITEA_SERVER_TOKEN",
] as const;

export type ForgeVariables = Readonly<Record<string, string>>;

/**
 * The token of an identity as `gh`, `glab` and `tea` read it. Each gets it only for the identity's
 * own server.
 */
export function forgeVariables({ provider, host }: Identity, token: string): ForgeVariables {
  if (host === undefined) return {};
  const server = `https://${host}`;
  switch (provider) {
    case "github": {
      // `gh` sends these two to github.com, and the others to a GitHub Enterprise Server
      // (gh help environment).
      const isCloud = host === "github.com" || host.endsWith(".ghe.com");
      const names = isCloud
        ? ["GH_TOKEN", "GITHUB_TOKEN"]
        : ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];
      return { GH_HOST: host, ...Object.fromEntries(names.map((name) => [name, token])) };
    }
    case "gitlab":
      return { GITLAB_HOST: server, GITLAB_TOKEN: token };
    case "other":
      return { GITEA_SERVER_URL: server, GITEA_SERVER_TOKEN: token };
    case "bitbucket":
      return {};
  }
}

/** An environment that has only these variables of forges, and none of another account's. */
export function replaceForgeVariables(
  base: NodeJS.ProcessEnv,
  own: ForgeVariables,
): NodeJS.ProcessEnv {
  const env = { ...base };
  for (const name of [...HOSTS, ...TOKENS]) delete env[name];
  return { ...env, ...own };
}

/** An environment with these variables, unless somebody has put a token there on purpose. */
export function addForgeVariables(base: NodeJS.ProcessEnv, own: ForgeVariables): NodeJS.ProcessEnv {
  const isGiven = TOKENS.some((name) => base[name] !== undefined && base[name] !== "");
  return isGiven || Object.keys(own).length === 0 ? base : replaceForgeVariables(base, own);
}
