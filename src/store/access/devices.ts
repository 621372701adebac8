import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import { hashToken } from "./access-token.ts";
import { checkDevice, type Device } from "../schema.gen.ts";
import { LastUses, type LastUsesOptions, SharedList } from "../shared-list.ts";

const FILE = "devices.json";
/** Milliseconds after which a browser has to log in again. */
const BROWSER_GOOD_FOR = 12 * 60 * 60_000;
/** The same for a paired device, since it was last seen. */
const PAIRED_GOOD_FOR = 30 * 24 * 60 * 60_000;
/** Devices that are logged in at once; one more logs out the one that was not seen for longest. */
const MOST = 100;

/** The devices that are logged in, in a file of the data folder that several processes read and write. */
export class Devices implements AsyncDisposable {
  readonly #file: SharedList<Device>;
  readonly #now: () => number;
  readonly #uses: LastUses;

  constructor(folder: string, options: LastUsesOptions = {}) {
    this.#file = new SharedList(join(folder, FILE), {
      key: "devices",
      // A record that is not fully understood must let nobody in.
      parse: (value) => (checkDevice(value) === undefined ? (value as Device) : undefined),
      advice: "Delete it: then all devices have to log in again.",
    });
    this.#now = options.now ?? Date.now;
    this.#uses = new LastUses(
      (uses) => this.#change((devices) => devices.map((each) => seen(each, uses))),
      (error) => options.report?.("devices.not-noted", { file: this.#file.path, error }),
      options,
    );
  }

  /** The devices whose login has not expired. */
  list(): readonly Device[] {
    return this.#file.read().filter((device) => this.#untilOf(device) > this.#now());
  }

  /** The device with a cookie. Looked up by hash, so that timing tells nothing. */
  find(secret: string): Device | undefined {
    const sha256 = hashToken(secret);
    return this.list().find((device) => device.sha256 === sha256);
  }

  get(id: string): Device | undefined {
    return this.list().find((device) => device.id === id);
  }

  /** Milliseconds until a device that logs in now has to log in again. */
  static goodFor(isPaired: boolean): number {
    return isPaired ? PAIRED_GOOD_FOR : BROWSER_GOOD_FOR;
  }

  /** Logs a device in. The secret for its cookie is only in the result. */
  async add(
    device: Pick<Device, "name" | "isPaired" | "isLocal" | "isOwn"> & {
      readonly mark: string | undefined;
    },
  ): Promise<{ readonly secret: string; readonly device: Device }> {
    const secret = randomBytes(32).toString("base64url");
    const now = new Date(this.#now()).toISOString();
    const made = defined<Device>({
      id: randomBytes(4).toString("hex"),
      sha256: hashToken(secret),
      created: now,
      lastSeen: now,
      ...device,
    });
    await this.#change((devices) => {
      const oldest = devices.toSorted((one, other) => one.lastSeen.localeCompare(other.lastSeen));
      const gone = new Set(oldest.slice(0, Math.max(0, devices.length + 1 - MOST)));
      return [...devices.filter((each) => !gone.has(each)), made];
    });
    return { secret, device: made };
  }

  /** Keeps a device logged in for as long as a paired one. */
  async pair(id: string): Promise<void> {
    await this.#change((devices) =>
      devices.map((each) => (each.id === id ? { ...each, isPaired: true } : each)),
    );
  }

  /** Logs a device out. Throws if there is none with that id or name. */
  async remove(which: string): Promise<Device> {
    const devices = this.list();
    const found = devices.filter(({ id, name }) => id === which || name === which);
    const [only] = found;
    if (only === undefined || found.length > 1) {
      const why =
        only === undefined ? "no device has this id or name" : "several devices have this name";
      const ids = devices.map(({ id, name }) => `${id} (${name})`).join(", ") || "none";
      const says = `Cannot revoke '${which.slice(0, 100)}': ${why}. Devices: ${ids}.`;
      throw new TrunklineError("not-found", says);
    }
    await this.#change((kept) => kept.filter(({ id }) => id !== only.id));
    return only;
  }

  /** Notes that a device was used. */
  see({ id }: Device): void {
    this.#uses.note(id);
  }

  /** Writes pending times of use. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#uses[Symbol.asyncDispose]();
  }

  /** Those that have expired go with the next change. */
  async #change(change: (devices: readonly Device[]) => readonly Device[]): Promise<void> {
    await this.#file.change((devices) => {
      return { list: change(devices.filter((device) => this.#untilOf(device) > this.#now())) };
    });
  }

  #untilOf({ id, isPaired, created, lastSeen }: Device): number {
    if (!isPaired) return Date.parse(created) + BROWSER_GOOD_FOR;
    return Math.max(Date.parse(lastSeen), this.#uses.of(id)) + PAIRED_GOOD_FOR;
  }
}

function seen(device: Device, uses: ReadonlyMap<string, number>): Device {
  const at = uses.get(device.id);
  return at === undefined ? device : { ...device, lastSeen: new Date(at).toISOString() };
}
