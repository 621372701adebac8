import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import { hashToken } from "./access-token.ts";
import { checkDevice, type Device } from "../schema.gen.ts";
import { type LastUsesOptions, UsedList } from "../shared-list.ts";

const FILE = "devices.json";
/** Milliseconds after which a browser has to log in again. */
const BROWSER_GOOD_FOR = 12 * 60 * 60_000;
/** The same for a paired device, since it was last seen. */
const PAIRED_GOOD_FOR = 30 * 24 * 60 * 60_000;
/** Devices that are logged in at once; one more logs out the one that was not seen for longest. */
const MOST = 100;

/** The devices that are logged in, in a file of the data folder that several processes read and write. */
export class Devices extends UsedList<Device> {
  constructor(folder: string, options: LastUsesOptions = {}) {
    const advice = "Delete it: then all devices have to log in again.";
    // A record that is not fully understood must let nobody in.
    const parse = (value: unknown): Device | undefined =>
      checkDevice(value) === undefined ? (value as Device) : undefined;
    super(join(folder, FILE), { key: "devices", parse, advice }, options);
  }

  protected override used(device: Device, at: number): Device {
    return at === 0 ? device : { ...device, lastSeen: new Date(at).toISOString() };
  }

  /** The devices whose login has not expired. */
  list(): readonly Device[] {
    return this.read().filter((device) => this.#isIn(device));
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
    const now = new Date(this.now()).toISOString();
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

  /** Those that have expired go with the next change. */
  async #change(change: (devices: readonly Device[]) => readonly Device[]): Promise<void> {
    await this.change((devices) => ({ list: change(devices.filter((it) => this.#isIn(it))) }));
  }

  #isIn(device: Device): boolean {
    return this.#untilOf(device) > this.now();
  }

  #untilOf({ id, isPaired, created, lastSeen }: Device): number {
    if (!isPaired) return Date.parse(created) + BROWSER_GOOD_FOR;
    return Math.max(Date.parse(lastSeen), this.lastUse(id)) + PAIRED_GOOD_FOR;
  }
}
