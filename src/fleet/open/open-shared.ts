import { setTimeout as delay } from "node:timers/promises";
import { onAbort } from "../../base/abort.ts";
import { attempt } from "../../base/attempt.ts";
import { background } from "../../base/background.ts";
import { objectIn } from "../../base/check.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import type { FleetConnection } from "../connection/connect.ts";
import type { NodeAddress } from "../connection/node-server.ts";
import { SharedAudit } from "../replication/shared-audit.ts";
import type { SharedState } from "../replication/shared-state.ts";
import { shareStores } from "../replication/shared-stores.ts";
import type { AppContext } from "../../config/app-context.ts";
import { existsSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { nodeIdOf } from "../ownership/node-id.ts";
import {
  rowText,
  SHARED_FILE,
  type SharedKind,
  type SharedText,
} from "../replication/shared-base.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { replaceFile } from "../../store/replace-file.ts";
import { checkIdentitySettings } from "../../config/schema/schema.gen.ts";
import { currentConfig } from "../../identity/open/open-identities.ts";
import {
  readSharedIdentities,
  type SharedIdentity,
  sharedIdentitiesPath,
  sharedParts,
} from "./shared-identities-file.ts";

export interface SharedOptions {
  readonly app: AppContext;
  readonly fleet: { readonly connection: FleetConnection; readonly self: NodeAddress };
  /** Of a worker, the tokens are not shared. */
  readonly role: "gateway" | "worker";
  readonly env?: NodeJS.ProcessEnv;
}

/** Milliseconds after which it is tried again to open what is shared. */
const TRY_AGAIN = 1_000;

/**
 * Shares tokens, permission rules, review threads, identities and the audit of a data folder with the
 * other nodes. It does not wait for NATS: what is here is used, and what is changed here is sent when
 * NATS can be reached. No other node uses the folder (see `connectFleet`).
 */
export function shareData({ app, fleet, role, env }: SharedOptions) {
  const { config, report } = app;
  const over = new AbortController();
  const { signal } = over;
  let opened:
    | { state: SharedState; audit: SharedAudit; tokens: SharedState | undefined }
    | undefined;

  const share = async (): Promise<void> => {
    await using open = new AsyncDisposableStack();
    const identities = await openIdentityKind(app, env);
    const sharing = { connection: fleet.connection, data: config.data, report };
    const endings = new TaskQueue();
    open.defer(() => endings.idle());
    const end = (): Promise<void> => endings.run(() => endTokenless(app));
    const gone = (): void => background(end(), "Ending logins of revoked people");
    const { state, tokens } = open.use(await shareStores(sharing, role, [identities], gone));
    // A token may have been removed just before this node was killed.
    if (role === "gateway") gone();
    const audit = open.use(await SharedAudit.open({ ...sharing, name: fleet.self.name }));
    opened = { state, audit, tokens };
    try {
      await new Promise((resolve) => onAbort(signal, resolve));
    } finally {
      opened = undefined;
    }
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await share().catch((error: unknown) => report("shared.failed", { error }));
      await delay(TRY_AGAIN, undefined, { signal }).catch(() => {});
    }
  };
  const running = run();
  return {
    /** Undefined until the stores of the data folder are open. A worker shares no tokens. */
    get status() {
      if (opened === undefined) return undefined;
      const { state, audit, tokens } = opened;
      return { state: state.status, audit: audit.status, tokens: tokens?.status };
    },

    async [Symbol.asyncDispose](): Promise<void> {
      over.abort();
      await running;
    },
  };
}

/**
 * Each gateway has logins of people at MCP servers, and their secrets stay there. That a person has no access
 * token left is known at all of them, and ends the logins at each.
 */
async function endTokenless({ config, log }: AppContext): Promise<void> {
  const tokens = new AccessTokens(config.data);
  // A file that was lost comes back from the other nodes.
  if (!existsSync(tokens.path)) return;
  const { ServerLogins } = await import("../../upstream/open/server-logins.ts");
  const logins = new ServerLogins({ data: config.data, env: process.env });
  const problems = await logins.endTokenless(tokens.list(), "fleet");
  for (const why of problems) log.warn("upstream.login-not-ended", { why });
}

/**
 * The identities that are configured on the nodes. Each node shares its own, and keeps those of the
 * others in a file, since nobody's configuration is written. Secrets stay where they are: who uses an
 * identity at another node needs its key and its token there.
 */
export async function openIdentityKind(app: AppContext, env = process.env): Promise<SharedKind> {
  const { data } = app.config;
  const path = sharedIdentitiesPath(data);
  // From then on, a file that is missing was lost.
  if (!existsSync(join(data, SHARED_FILE))) {
    await mkdir(data, { recursive: true, mode: 0o700 });
    await replaceFile(path, "{}\n");
  }
  // Two nodes may be given the same name by mistake, but not the same id.
  const node = await nodeIdOf(data);
  /** What this node shares. */
  const own = async (): Promise<Map<string, string>> => {
    const { config } = await currentConfig(app, data, env);
    return new Map(
      Object.entries(config.identities).map(([name, settings]) => {
        const key = `${node}.${Buffer.from(name).toString("base64url")}`;
        return [key, rowText({ name, settings: sharedParts(settings) })];
      }),
    );
  };
  return {
    name: "identity",
    stamp: () => {
      const stamps = (app.reloading?.files ?? []).map((file) => {
        const stat = statSync(file, { throwIfNoEntry: false });
        return stat && [stat.ino, stat.size, stat.mtimeMs];
      });
      return JSON.stringify([stamps, existsSync(path)]);
    },
    read: async () => {
      const theirs = Object.entries(readSharedIdentities(data)).map(([key, identity]) => {
        return [key, rowText(identity)] as const;
      });
      const rows = new Map([...theirs, ...(await own())]);
      return { rows, isWhole: true, isLost: !existsSync(path) };
    },
    change: async (keys, decide) => {
      const ours = await own();
      const theirs = { ...readSharedIdentities(data) };
      const result = new Map<string, SharedText>();
      for (const key of keys) {
        if (key.startsWith(`${node}.`)) {
          decide(key, ours.get(key));
          result.set(key, ours.get(key));
          continue;
        }
        const local = theirs[key];
        const next = decide(key, local && rowText(local));
        const identity = next === undefined ? undefined : readIdentity(next);
        delete theirs[key];
        if (identity !== undefined) theirs[key] = identity;
        result.set(key, identity && rowText(identity));
      }
      await replaceFile(path, `${JSON.stringify(theirs, null, 2)}\n`);
      return result;
    },
    /** Only the identities of this node change here, and its configuration decides them. */
    merge: (local) => local,
  };
}

function readIdentity(text: string): SharedIdentity | undefined {
  const { name, settings }: Partial<SharedIdentity> = objectIn(text) ?? {};
  if (typeof name !== "string" || typeof settings?.provider !== "string") return undefined;
  // Another version may share more than this one would.
  const parts = attempt(() => sharedParts(settings));
  const isFit = parts !== undefined && checkIdentitySettings(parts) === undefined;
  return isFit ? { name, settings: parts } : undefined;
}
