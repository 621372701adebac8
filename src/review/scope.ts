import { fileURLToPath } from "node:url";

import { TrunklineError } from "../base/errors.ts";
import type { ToolContext } from "../tool/tool.ts";
import type { ReviewDesk } from "./desk.ts";
import { findRepository, openRepository } from "./repository.ts";

const ROOTS = { method: "roots/list" };

/** Which repository a call is about. */
export class Scope {
  readonly #desk: ReviewDesk;
  /** What clients said of where they are, by session. */
  readonly #said = new Map<string, Promise<string | undefined>>();

  constructor(desk: ReviewDesk) {
    this.#desk = desk;
  }

  /**
   * Its git folder: the one that is named, that of the folder we run in, or the one the client says
   * it works in. Undefined, which means all, where nobody knows.
   */
  async of(named: unknown, context: ToolContext): Promise<string | undefined> {
    if (typeof named === "string") return openRepository(named).gitDir;
    const own = this.#desk.repository?.gitDir;
    if (own !== undefined) return own;
    if (context.folder !== undefined) return findRepository(context.folder)?.gitDir;
    if (!context.canAsk(ROOTS)) return undefined;
    const { session = "" } = context;
    const known = this.#said.get(session);
    if (known !== undefined) return known;
    const asked = rootOf(context);
    this.#said.set(session, asked);
    asked.catch(() => this.#said.delete(session));
    return asked;
  }
}

async function rootOf(context: ToolContext): Promise<string | undefined> {
  const { roots } = (await context.ask(ROOTS)) as { roots?: readonly { uri?: unknown }[] };
  for (const { uri } of roots ?? []) {
    const folder = typeof uri === "string" && uri.startsWith("file:") ? fileURLToPath(uri) : "";
    const repository = folder === "" ? undefined : findRepository(folder);
    if (repository !== undefined) return repository.gitDir;
  }
  const next = "Open a folder of one, or give `repository`";
  throw new TrunklineError("not-found", `None of the client's roots is in a repository. ${next}.`);
}
