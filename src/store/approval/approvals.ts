import { TrunklineError } from "../../base/errors.ts";
import type { Approval, Described, Seen } from "../schema.gen.ts";
import { ApprovalsFile, isSame, keyOf, see } from "./approvals-file.ts";

export interface ApprovalsOptions {
  /** "first-use": a new tool is approved, and held when it changes. "always": a new tool is held, too. */
  readonly mode?: "first-use" | "always";
  /** Called when the file cannot be read or written. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
}

/** A change, applied to the content of the file at the time of writing. */
type Change = (known: Map<string, Approval>) => void;

/**
 * The descriptions of other servers' tools as they were approved, in `approvals.json` of the data folder. A
 * server that changes the description of a tool may want to mislead the model: the tool is held until a
 * person has approved the change.
 *
 * The toolbox checks each tool that has a `source`, holds it if necessary, and checks again when a
 * person has approved something, perhaps in another process.
 * ```ts
 * const approvals = await Approvals.open(config.data, { mode: config.policy.tools.approve });
 * const offer = new Offer({ approver: approvals });
 * offer.tools.add({ definition, source: { server: "files", name: "read" }, call });
 * ```
 * A check costs one hash and does not wait for the disk; new descriptions are written soon after.
 */
export class Approvals implements AsyncDisposable {
  readonly #file: ApprovalsFile;
  readonly #unwatch: () => void;
  readonly #mode: "first-use" | "always";
  readonly #report: (event: string, fields: Record<string, unknown>) => void;
  readonly #listeners = new Set<{ readonly call: () => void }>();
  #known: Map<string, Approval>;
  readonly #changes: Change[] = [];
  readonly #said = new Set<string>();
  #writing: Promise<void> | undefined;

  private constructor(
    file: ApprovalsFile,
    known: Map<string, Approval>,
    options: ApprovalsOptions,
  ) {
    this.#file = file;
    this.#known = known;
    this.#mode = options.mode ?? "first-use";
    this.#report = options.report ?? (() => {});
    this.#unwatch = file.watch((read) => {
      read.then(
        (found) => this.#take(found),
        (error: unknown) => this.#report("approvals.failed", { error }),
      );
    });
  }

  /** Throws if the file exists but cannot be read. */
  static async open(data: string, options: ApprovalsOptions = {}): Promise<Approvals> {
    const file = new ApprovalsFile(data);
    return new Approvals(file, await file.read(), options);
  }

  /** Whether a tool may be offered as its server describes it now. */
  judge(server: string, definition: Described): "approved" | "held" {
    const { name } = definition;
    const now = see(definition);
    const known = this.#known.get(keyOf(server, name));
    const isApproved =
      known?.approved === undefined
        ? known?.held === undefined && this.#mode === "first-use"
        : isSame(known.approved, now);
    if (this.#isNews(known, now, isApproved)) {
      this.#change((all) => note(all, server, now, name, isApproved));
    }
    return isApproved ? "approved" : "held";
  }

  /**
   * Whether a description has to be written. Most tools are unchanged, so nothing is. If two processes
   * see different descriptions, as from two releases of one server, each writes its own once;
   * otherwise they would overwrite each other endlessly.
   */
  #isNews(known: Approval | undefined, now: Seen, isApproved: boolean): boolean {
    if (known?.held === undefined) return known?.approved === undefined || !isApproved;
    const { server, name, held } = known;
    if (!isApproved && held.fingerprint === now.fingerprint) return false;
    const saying = `${keyOf(server, name)} ${now.fingerprint} ${held.fingerprint}`;
    if (this.#said.has(saying)) return false;
    this.#said.add(saying);
    return true;
  }

  /** Whether a person has approved the tool as its server describes it now. */
  vouches(server: string, definition: Described): boolean {
    const { approved, byPerson } = this.#known.get(keyOf(server, definition.name)) ?? {};
    return byPerson === true && approved !== undefined && isSame(approved, see(definition));
  }

  /** Why a tool is held. */
  why(server: string, name: string): "new" | "changed" {
    return this.#known.get(keyOf(server, name))?.approved === undefined ? "new" : "changed";
  }

  /** The approved and the current description of a held tool. Undefined if it is not held. */
  diff(server: string, name: string): ReturnType<typeof pendingOf> {
    const known = this.#known.get(keyOf(server, name));
    return known === undefined ? undefined : pendingOf(known);
  }

  /** The description that the server gave last; undefined for a tool that was never seen. */
  last(server: string, name: string): Seen | undefined {
    const known = this.#known.get(keyOf(server, name));
    return known?.held ?? known?.approved;
  }

  /** All held tools, by server and name. */
  pending() {
    return [...this.#known.values()]
      .flatMap((known) => pendingOf(known) ?? [])
      .toSorted((a, b) => (keyOf(a.server, a.name) < keyOf(b.server, b.name) ? -1 : 1));
  }

  /**
   * Approves a tool as it was last seen, for a person. If the server has changed it again since it was
   * shown, it stays held. Resolves when that is on disk. Throws "not-found" when
   * the tool was never seen.
   */
  async approve(server: string, name: string): Promise<void> {
    const shown = this.last(server, name);
    if (shown === undefined) {
      const why = "no such tool has been seen";
      throw new TrunklineError("not-found", `Cannot approve '${name}' of '${server}': ${why}`);
    }
    this.#change((all) => {
      const held = all.get(keyOf(server, name))?.held;
      const rest = held === undefined || held.fingerprint === shown.fingerprint ? {} : { held };
      all.set(keyOf(server, name), { server, name, approved: shown, byPerson: true, ...rest });
    });
    this.#announce();
    await this.#write();
  }

  /** Calls back when approvals have changed. Returns a function that stops it. */
  onChange(call: () => void): () => void {
    const listener = { call };
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Resolves when all changes are on disk, or writing has failed. */
  async flush(): Promise<void> {
    await this.#write().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    this.#listeners.clear();
    await this.flush();
  }

  #change(change: Change): void {
    change(this.#known);
    this.#changes.push(change);
    this.#write().catch((error: unknown) => this.#report("approvals.failed", { error }));
  }

  /** Writes pending changes, one write at a time. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeNow();
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    // Changes of the same turn of the event loop go into one write.
    await new Promise(setImmediate);
    try {
      while (this.#changes.length > 0) await this.#writeAll(this.#changes.splice(0));
    } finally {
      this.#writing = undefined;
    }
  }

  async #writeAll(changes: Change[]): Promise<void> {
    try {
      this.#take(await this.#file.update((all) => changes.forEach((change) => change(all))));
    } catch (error) {
      // Retried with the next change.
      this.#changes.unshift(...changes);
      throw error;
    }
  }

  /** Takes the content of the file, with pending changes applied. */
  #take(known: Map<string, Approval>): void {
    const before = textOf(this.#known);
    for (const change of this.#changes) change(known);
    this.#known = known;
    if (textOf(known) !== before) this.#announce();
  }

  #announce(): void {
    for (const { call } of this.#listeners) {
      try {
        call();
      } catch (error) {
        this.#report("approvals.listener", { error });
      }
    }
  }
}

/** Records the description of a tool. What another process approved or saw first is kept. */
function note(
  all: Map<string, Approval>,
  server: string,
  now: Seen,
  name: string,
  isApproved: boolean,
): void {
  const key = keyOf(server, name);
  const { approved, held: _, ...known } = all.get(key) ?? { server, name };
  if (approved === undefined && isApproved) all.set(key, { ...known, approved: now });
  else if (approved === undefined) all.set(key, { ...known, held: now });
  else if (approved.fingerprint === now.fingerprint) all.set(key, { ...known, approved });
  else all.set(key, { ...known, approved, held: now });
}

/** A held tool, which waits for a person. */
function pendingOf({ server, name, approved, held }: Approval) {
  if (held === undefined) return undefined;
  const why: "new" | "changed" = approved === undefined ? "new" : "changed";
  return { server, name, why, before: approved, now: held };
}

/** The fingerprints, without the times, to find out whether anything has changed. */
function textOf(known: Map<string, Approval>): string {
  return Array.from(known, ([key, { approved, byPerson, held }]) => {
    return `${key} ${approved?.fingerprint} ${byPerson} ${held?.fingerprint}`;
  })
    .toSorted()
    .join("\n");
}
