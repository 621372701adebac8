import { createHmac, timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";

import { TrunklineError } from "../../base/errors.ts";
import { peerUid } from "../../base/process/peer-uid.ts";
import { OwnerToken } from "./access-token.ts";

/** What makes the proof useless anywhere else: the token itself never leaves its file. */
const PURPOSE = "a process of the owner of this data folder";

/**
 * How processes of one data folder know each other, on the Unix sockets in it: the kernel says that both
 * belong to one user, and each says what only that user can know.
 */
export class OwnProcess {
  readonly #token: OwnerToken;

  constructor(data: string) {
    this.#token = new OwnerToken(data);
  }

  /** Whoever listens makes the secret, where there is none. */
  async prepare(): Promise<void> {
    await this.#token.ensure();
  }

  /** What a process says of itself in its greeting. */
  get proof(): string {
    const proof = this.#expected();
    if (proof !== undefined) return proof;
    const why = "it is not there, or others than its owner can read it";
    const says = `Cannot read the secret '${this.#token.path}': ${why}. \`trunkline serve\` makes another.`;
    throw new TrunklineError("untrusted", says);
  }

  /** Why the greeting of another process is not believed, for that process; undefined where it is. */
  refusal({ proof }: { readonly proof?: unknown }): string | undefined {
    if (proof === undefined) {
      return "This process is of an older version of Trunkline, which does not show whose it is. Restart it, and whatever program started it.";
    }
    const expected = this.#expected();
    if (typeof proof === "string" && expected !== undefined && isEqual(proof, expected)) {
      return undefined;
    }
    return `This process does not know the secret in '${this.#token.path}'. Restart it as the user whose folder that is.`;
  }

  #expected(): string | undefined {
    const token = this.#token.read();
    return token === undefined
      ? undefined
      : createHmac("sha256", token).update(PURPOSE).digest("hex");
  }
}

function isEqual(one: string, other: string): boolean {
  const [said, known] = [Buffer.from(one), Buffer.from(other)];
  return said.length === known.length && timingSafeEqual(said, known);
}

/**
 * Throws "untrusted" where the process at the other end of a Unix socket is another user's. Where the
 * system does not tell, the secret alone decides.
 */
export async function mustBeOwn(socket: Socket): Promise<void> {
  const uid = await peerUid(socket);
  // Root can be anybody anyway.
  if (uid === undefined || uid === 0 || uid === process.getuid?.()) return;
  const who = uid === -1 ? "the connection is over" : `it belongs to user ${uid}`;
  throw new TrunklineError("untrusted", `The process at the other end is not ours: ${who}.`);
}
