import { isAbsolute } from "node:path";

import { atMost } from "../../../base/abort.ts";
import { defined } from "../../../base/defined.ts";
import type { GuardStatus } from "../../../identity/guard/install-guard.ts";
import type { IdentityCommands } from "../../../identity/identity-commands.ts";
import { isExpiring } from "../../../identity/tokens/tokens.ts";
import { findRepository } from "../../../review/repository.ts";
import type { SessionReading } from "../../../store/session/session-reader.ts";
import type { AppContext } from "../../../config/app-context.ts";
import { currentIdentities } from "../../../identity/open/open-identities.ts";
import type { Identities, IdentityRow, IdentitySwitched, ProjectIdentity } from "../api.ts";
import { type ApiCall, type ApiRoute, route, textIn } from "../../../base/capability/api-route.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { mayUseFolder } from "../../../base/principal.ts";
import { homeOf } from "../../../base/process/environment.ts";
import { type IdentityFacts, newIdentity } from "../../../identity/identity-facts.ts";

/** Sessions whose folders are looked at, and folders that are shown. */
const MOST_SESSIONS = 200;
const MOST_PROJECTS = 20;
/** Milliseconds that their repositories together may take. */
const PATIENCE = 5_000;

/** Git identities, and which one is used where. */
export function identityRoutes(
  app: AppContext,
  reader: SessionReading,
  env: NodeJS.ProcessEnv = process.env,
  patience: number = PATIENCE,
): readonly ApiRoute[] {
  return [
    route("GET /api/identities", "admin", () => readIdentities(app, reader, env, patience)),
    route("POST /api/identities", "admin", ({ body }) => addIdentity(app, body, env)),
    route("POST /api/identities/switch", "admin", (call) => switchIdentity(app, call, env)),
  ];
}

const FACTS = ["user", "email", "display-name", "host", "ssh-key", "signing-key"] as const;
const PROVIDERS = ["github", "gitlab", "bitbucket", "other"] as const;
const SIGNINGS = ["none", "openpgp", "ssh"] as const;

/** As `identity add`. Where its token is from is not for a page to say: that may name secrets of others. */
async function addIdentity(
  app: AppContext,
  body: ApiCall["body"],
  env: NodeJS.ProcessEnv,
): Promise<{ name: string }> {
  const name = textIn(body, "name").trim();
  const texts = FACTS.filter((key) => typeof body[key] === "string" && body[key] !== "");
  const provider = PROVIDERS.find((each) => each === body.provider);
  const signing = SIGNINGS.find((each) => each === body.signing);
  const facts: IdentityFacts = {
    ...Object.fromEntries(texts.map((key) => [key, body[key]])),
    ...(provider === undefined ? {} : { provider }),
    ...(signing === undefined || signing === "none" ? {} : { signing }),
  };
  await using commands = await currentIdentities(app, app.config.data, env);
  // A page has no folder that a relative path could count from.
  await commands.identities.save(name, newIdentity(name, facts, { cwd: homeOf(env), env }), true);
  return { name };
}

/** As `identity switch`, in one repository. */
async function switchIdentity(
  app: AppContext,
  { principal, body }: ApiCall,
  env: NodeJS.ProcessEnv,
): Promise<IdentitySwitched> {
  const name = textIn(body, "identity");
  const folder = textIn(body, "folder");
  if (!isAbsolute(folder) || !mayUseFolder(principal, folder)) {
    const says = `'${folder.slice(0, 200)}' is not a folder that you may use.`;
    throw new TrunklineError("usage", says);
  }
  await using commands = await currentIdentities(app, folder, env);
  const { id, plan } = await commands.switch(name, folder);
  const { canSign, says } = await commands.signing(name);
  const notes = canSign ? plan.notes : [...plan.notes, says];
  return { isChanged: id !== undefined, notes, files: plan.files.map(({ path }) => path) };
}

async function readIdentities(
  app: AppContext,
  reader: SessionReading,
  env: NodeJS.ProcessEnv,
  patience: number,
): Promise<Identities> {
  await using commands = await currentIdentities(app, app.config.data, env);
  const identities = await Promise.all(
    commands.identities.list.map(async (identity): Promise<IdentityRow> => {
      const { name, provider, host = "", user = "", email = "", sshKey, signing } = identity;
      const hasSource = identity.settings.tokenSource !== undefined;
      const record = await commands.tokens.record(identity);
      const { storedAt, expires } = record;
      return defined<IdentityRow>({
        ...{ name, provider, host, user, email, sshKey },
        signing: signing === undefined ? "none" : signing.format,
        hasToken: hasSource || storedAt !== undefined,
        tokenExpires: isExpiring(record) ? expires : undefined,
      });
    }),
  );
  const sessions = await reader.list({ limit: MOST_SESSIONS });
  const folders = new Map<string, number>();
  for (const { cwd, notes } of sessions) {
    const root = notes.run === undefined ? findRepository(cwd)?.root : undefined;
    if (root !== undefined) folders.set(root, (folders.get(root) ?? 0) + 1);
  }
  const projects: ProjectIdentity[] = [];
  const end = performance.now() + patience;
  for (const [folder, count] of [...folders].slice(0, MOST_PROJECTS)) {
    // Git waits in a repository that has a pipe in the place of a file: the others are shown.
    const found = await atMost(end - performance.now(), projectOf(commands, folder, count));
    const says = "Git takes long here. Look at the page again later.";
    projects.push(found ?? { folder, guard: "unknown", says, sessions: count });
  }
  return { identities, projects };
}

async function projectOf(
  commands: IdentityCommands,
  folder: string,
  sessions: number,
): Promise<ProjectIdentity> {
  try {
    const { author, switched, current, isRight, detected } =
      await commands.identities.status(folder);
    const guard = await commands.guardStatus(folder).catch(() => undefined);
    const identity = switched?.identity ?? current;
    const { email } = author;
    const says = guard?.broken ?? (isRight === false ? detected.explanation : undefined);
    const state = stateOf(guard);
    return defined<ProjectIdentity>({ folder, identity, email, guard: state, says, sessions });
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    return { folder, guard: "unknown", says, sessions };
  }
}

function stateOf(guard: GuardStatus | undefined): ProjectIdentity["guard"] {
  if (guard === undefined) return "unknown";
  if (guard.broken !== undefined) return "broken";
  return guard.isInstalled ? "on" : "off";
}
