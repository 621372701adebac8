import { atMost } from "../../../base/abort.ts";
import type { ReadSession } from "../../../store/session/session-reader.ts";

/** The name of the identity that an agent acts as in a folder. */
export type IdentityOf = (agent: string, cwd: string) => Promise<string | undefined>;

type Place = Pick<ReadSession, "agent" | "cwd">;

interface KnownIdentity {
  readonly name: string | undefined;
  /** When it was looked up; undefined while that is still to be done. */
  readonly at: number | undefined;
}

/** Milliseconds for which a name is cached, and for which a request waits for a new one. */
const FRESH = 30_000;
const PATIENCE = 300;
const MOST = 1_000;

/**
 * The identities that the agents of sessions act as. Finding one starts several git processes, so folders
 * are looked up one after the other, and requests wait only a moment for them.
 */
export class SessionIdentities {
  readonly #identityOf: IdentityOf;
  readonly #known = new Map<string, KnownIdentity>();
  #work: Promise<void> = Promise.resolve();

  constructor(identityOf: IdentityOf) {
    this.#identityOf = identityOf;
  }

  /** As far as it is known. */
  of(place: Place): string | undefined {
    return this.#known.get(keyOf(place))?.name;
  }

  /** Looks up what is not known of these places. Resolves when that is done, or takes long. */
  async look(places: readonly Place[]): Promise<void> {
    const old = places.filter((place) => !this.#isFresh(place));
    if (old.length === 0) return;
    for (const place of old) this.#begin(place);
    await atMost(PATIENCE, this.#work);
  }

  #isFresh(place: Place): boolean {
    const known = this.#known.get(keyOf(place));
    return known !== undefined && (known.at === undefined || performance.now() - known.at < FRESH);
  }

  #begin(place: Place): void {
    const key = keyOf(place);
    if (this.#isFresh(place)) return;
    // The former name is shown until the new one is known.
    this.#known.set(key, { name: this.of(place), at: undefined });
    this.#work = this.#work.then(async () => {
      // Where it cannot be found, such as in a folder that was removed, there is none to show.
      const name = await this.#identityOf(place.agent, place.cwd).catch(() => undefined);
      this.#known.delete(key);
      this.#known.set(key, { name, at: performance.now() });
      for (const oldest of this.#known.keys()) {
        if (this.#known.size <= MOST) break;
        this.#known.delete(oldest);
      }
    });
  }
}

function keyOf({ agent, cwd }: Place): string {
  return `${agent}\n${cwd}`;
}
