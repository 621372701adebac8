import { closeSync, openSync, readSync } from "node:fs";
import { isAbsolute, join } from "node:path";

import type { FileRules } from "./command-sandbox.ts";

/** Keys, logins, histories and profiles, as paths in a home folder. */
const SECRETS = [
  // Keys and logins of people.
  ...[
    ".ssh",
    ".gnupg",
    ".password-store",
    ".pki",
    ".local/share/keyrings",
    ".local/share/kwalletd",
  ],
  ...[
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
  ],
  ...[
    ".config/op",
    ".config/1Password",
    ".1password",
    ".config/Bitwarden",
    ".config/sops",
    ".config/age",
  ],
  // Clouds, forges and clusters.
  ...[
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/tea",
  ],
  ...[".kube", ".docker", ".config/containers", ".config/doctl", ".fly", ".config/heroku", ".oci"],
  ...[
    ".terraform.d/credentials.tfrc.json",
    ".config/rclone",
    ".config/configstore",
    ".config/netlify",
  ],
  ...[
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/pypoetry/auth.toml",
  ],
  // Agents and their keys.
  ...[".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json"],
  ...[".local/share/opencode/auth.json", ".config/goose", ".config/github-copilot", ".copilot"],
  // Browsers, mail and chat.
  ...[
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/vivaldi",
  ],
  ...[".config/microsoft-edge", ".config/opera", ".thunderbird", ".config/Signal", ".config/Slack"],
  ...[".config/discord", "snap", ".var/app"],
  // Virtual machines for containers, with their sockets.
  ...[".colima", ".lima", ".orbstack", ".rd", ".local/share/containers/podman/machine"],
  // Histories of input.
  ...[".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history"],
  ...[".node_repl_history", ".psql_history", ".mysql_history", ".lesshst", ".viminfo"],
];

/** Settings that programs need. They are hidden only if they contain a secret. */
const SETTINGS = [
  ...[".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip/pip.conf", ".pip/pip.conf"],
  ...[
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".config/composer/auth.json",
    ".wgetrc",
    ".curlrc",
  ],
];

const LOOKS_SECRET = /_auth|passw|token|secret|:\/\/[^/\s:@]+:[^@\s]+@/i;

/** Sockets of privileged services that act on requests, and what such services run. */
const SERVICES = [
  ...["/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd", "/var/lib/incus/unix.socket"],
  ...["/var/lib/docker", "/var/lib/libvirt", "/var/spool/cron"],
];

/** Folders with programs beside the sockets in /run (NixOS). */
const SYSTEM = ["/run/current-system", "/run/booted-system", "/run/opengl-driver"];

interface Cache {
  /** Its path in a home folder. */
  readonly path: string;
  /** The variable that overrides the path. */
  readonly variable?: string;
  /** The parts of it that can be written; all if left out. */
  readonly parts?: readonly string[];
}

/** Caches of tools. */
const CACHES: readonly Cache[] = [
  { path: ".cache", variable: "XDG_CACHE_HOME" },
  { path: ".npm", variable: "npm_config_cache" },
  { path: ".yarn/berry", variable: "YARN_GLOBAL_FOLDER" },
  { path: ".local/share/pnpm/store" },
  { path: ".bun/install/cache", variable: "BUN_INSTALL_CACHE_DIR" },
  { path: ".cargo", variable: "CARGO_HOME", parts: ["registry", "git"] },
  { path: "go/pkg", variable: "GOMODCACHE" },
  {
    path: ".gradle",
    variable: "GRADLE_USER_HOME",
    parts: ["caches", "daemon", "native", "wrapper"],
  },
  { path: ".m2/repository" },
  { path: ".ivy2/cache" },
  { path: ".nuget/packages", variable: "NUGET_PACKAGES" },
  { path: ".composer/cache", variable: "COMPOSER_CACHE_DIR" },
  { path: ".pub-cache", variable: "PUB_CACHE" },
  { path: ".ccache", variable: "CCACHE_DIR" },
];

/** Parts of caches with programs that other tools run. */
const RUN = [".cache/pre-commit", ".npm/_npx"];

/** Files that run at a login, in a shell or by git. They stay read-only even if the home is the project. */
const STARTUP = [
  ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv"],
  ...[
    ".zprofile",
    ".zlogin",
    ".config/fish",
    ".inputrc",
    ".gitconfig",
    ".config/git",
    ".local/bin",
    "bin",
  ],
  ...[".config/autostart", ".config/systemd", ".config/environment.d", ".local/share/systemd"],
  ...[".local/share/applications", ".vimrc", ".config/nvim", ".emacs.d", ".config/Code", ".vscode"],
  ...[".cargo/bin", ".cargo/config.toml", ".npm-global", ".nvm", ".pyenv", ".rustup"],
];

/**
 * The rules for a home folder, under which everyday tools still work: caches can be written, secrets are
 * hidden, and everything else can only be read.
 */
export function homeRules(home: string, env: NodeJS.ProcessEnv): FileRules {
  const inHome = (path: string): string => join(home, path);
  const caches = CACHES.flatMap(({ path, variable, parts = [""] }) => {
    const folder = placeOf(env, variable) ?? inHome(path);
    return parts.map((part) => join(folder, part));
  });
  const cacheHome = placeOf(env, "XDG_CACHE_HOME") ?? inHome(".cache");
  return {
    // A variable that names the home itself must not make all of it writable.
    write: caches.filter((path) => !home.startsWith(path)),
    keep: [...RUN, ...STARTUP].map(inHome),
    hide: [
      ...SECRETS.map(inHome),
      ...SETTINGS.map(inHome).filter(holdsSecret),
      ...serviceSockets(env),
      // Our own program runs the code in there at its next start.
      join(cacheHome, "trunkline"),
    ],
    // It may be in a folder that is hidden, such as /tmp.
    show: [home, ...SYSTEM],
  };
}

/**
 * Variables for caches that do not exist yet: they cannot be created in the home, so they go to /tmp,
 * which lasts as long as the session.
 */
export function cacheVariables(
  home: string,
  env: NodeJS.ProcessEnv,
  exists: (path: string) => boolean,
): Record<string, string> {
  const missing = CACHES.filter(
    ({ path, variable }) =>
      variable !== undefined && placeOf(env, variable) === undefined && !exists(join(home, path)),
  );
  return Object.fromEntries(
    missing.map(({ path, variable = "" }) => [variable, `/tmp/caches/${path.replace(/^\./, "")}`]),
  );
}

/** What leads to services that act on requests, outside of folders that are empty anyway. */
export function serviceSockets(env: NodeJS.ProcessEnv): string[] {
  return [...SERVICES, ...socketsIn(env)];
}

/** Sockets that variables name, such as `unix:///home/ada/docker.sock`. */
function socketsIn(env: NodeJS.ProcessEnv): string[] {
  const named = [env.SSH_AUTH_SOCK, env.DOCKER_HOST, env.DBUS_SESSION_BUS_ADDRESS];
  return named.flatMap((value) => {
    const [, path] = /^(?:unix:(?:\/\/|path=))?(\/[^,;]*)/.exec(value ?? "") ?? [];
    return path === undefined ? [] : [path];
  });
}

function placeOf(env: NodeJS.ProcessEnv, variable: string | undefined): string | undefined {
  const place = variable === undefined ? undefined : env[variable];
  return place !== undefined && isAbsolute(place) ? place : undefined;
}

const LONGEST = 64 * 1024;

function holdsSecret(file: string): boolean {
  let fd: number | undefined;
  try {
    fd = openSync(file, "r");
    const bytes = Buffer.alloc(LONGEST);
    return LOOKS_SECRET.test(bytes.toString("latin1", 0, readSync(fd, bytes)));
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
