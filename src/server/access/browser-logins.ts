import type { IncomingMessage } from "node:http";
import { Devices } from "../../store/access/devices.ts";
import type { Device } from "../../store/schema.gen.ts";
import type { OwnerToken } from "../../store/access/access-token.ts";
import { hostOf, isLoopbackAuthority, isOwnOrigin, type OwnAddress } from "./refuse-foreign.ts";
import { deviceName } from "./device-name.ts";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { endianness } from "node:os";
import { addressBytes } from "../../base/address.ts";
import { attempt } from "../../base/attempt.ts";
import { isOwnAddress } from "../../base/private-address.ts";

export interface BrowserLoginsOptions {
  readonly owner: OwnerToken;
  readonly devices: Devices;
  /** The server as it is reached; known once it listens. */
  readonly own: () => OwnAddress;
  /** The origin that others reach the server by, where that is another. */
  readonly publicOrigin: string | undefined;
  /** Names under which a proxy may pass requests on: its user says nothing about the sender's. */
  readonly proxied: ReadonlySet<string>;
}

/** The browsers that the owner has logged in, known by a cookie. */
export class BrowserLogins {
  readonly #options: BrowserLoginsOptions;

  constructor(options: BrowserLoginsOptions) {
    this.#options = options;
  }

  /** Logs in the browser that sent the request. Returns its `Set-Cookie` header. */
  async begin(request: IncomingMessage, isPaired = false): Promise<string> {
    const { owner, devices } = this.#options;
    const { secret } = await devices.add({
      name: deviceName(request.headers["user-agent"]),
      isPaired,
      mark: owner.mark,
      isLocal: isOfThisMachine(request),
      isOwn: peerUser(request.socket) === "owner",
    });
    return this.#cookie(request, secret, isPaired);
  }

  /**
   * Keeps the browser that sent the request logged in for as long as a paired device. Returns its new
   * `Set-Cookie` header; undefined where it has no login.
   */
  async pair(request: IncomingMessage): Promise<string | undefined> {
    const id = this.find(request);
    const { devices } = this.#options;
    const secret = this.#secretsIn(request).find((each) => devices.find(each)?.id === id);
    if (id === undefined || secret === undefined) return undefined;
    await devices.pair(id);
    return this.#cookie(request, secret, true);
  }

  /** The id of the device that sent a request; undefined where it is not logged in. */
  find(request: IncomingMessage): string | undefined {
    const secrets = this.#secretsIn(request);
    if (secrets.length === 0 || !this.isOfOwnPage(request)) return undefined;
    const { devices } = this.#options;
    const device = secrets.map((secret) => devices.find(secret)).find(Boolean);
    if (device === undefined || !this.#isOfOwner(device)) return undefined;
    if (device.isLocal !== isOfThisMachine(request) || this.isFromOther(request)) return undefined;
    if (device.isOwn === true && peerUser(request.socket) === "remote") return undefined;
    devices.note(device);
    return device.id;
  }

  /** Whether a program of another user of this machine sent a request, whatever its headers say. */
  isFromOther({ headers, socket }: IncomingMessage): boolean {
    const isProxied = this.#options.proxied.has(hostOf(headers.host ?? "") ?? "");
    return !isProxied && peerUser(socket) === "other";
  }

  isLive(id: string): boolean {
    const device = this.#options.devices.get(id);
    return device !== undefined && this.#isOfOwner(device);
  }

  /**
   * Logs out the browser that sent a request, and none whose cookie another user has seen. Returns the
   * `Set-Cookie` header that removes the cookie.
   */
  async end(request: IncomingMessage): Promise<string> {
    const { devices } = this.#options;
    const secrets = this.isFromOther(request) ? [] : this.#secretsIn(request);
    for (const secret of secrets) {
      const device = devices.find(secret);
      if (device !== undefined) await devices.remove(device.id);
    }
    return this.cookie(request, this.#name, "", 0);
  }

  #isOfOwner({ mark }: Device): boolean {
    return mark === this.#options.owner.mark;
  }

  #cookie(request: IncomingMessage, secret: string, isPaired: boolean): string {
    return this.cookie(request, this.#name, secret, Devices.goodFor(isPaired));
  }

  /** A `Set-Cookie` header. Over TLS, no other host can set a cookie of that name (RFC 6265bis, § 4.1.3.2). */
  cookie(request: IncomingMessage, name: string, value: string, milliseconds: number): string {
    const rest = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${milliseconds / 1000}`;
    const isSecure = this.isSecure(request);
    return isSecure ? `${HOST}${name}=${value}; ${rest}; Secure` : `${name}=${value}; ${rest}`;
  }

  /** Whether a browser has come over TLS. Behind a proxy that ends it, only the browser's origin tells. */
  isSecure({ headers }: IncomingMessage): boolean {
    const { scheme } = this.#options.own();
    return scheme === "https" || headers.origin?.startsWith("https:") === true;
  }

  /** RFC 6265, section 8.5: cookies are not isolated by port, so the name has the port. */
  get #name(): string {
    return `trunkline_${this.#options.own().port}`;
  }

  /** The safer cookie first. Older cookies, and those of plain HTTP on this machine, have the bare name. */
  #secretsIn(request: IncomingMessage): string[] {
    const names = [HOST + this.#name, this.#name];
    return names.flatMap((name) => cookieIn(request, name) ?? []);
  }

  /**
   * Whether a page of ours made the request, or a person did. Foreign pages were refused before; a
   * browser that sends neither `Origin` nor `Sec-Fetch-Site` may only read.
   */
  isOfOwnPage({ headers, method }: IncomingMessage): boolean {
    const { origin, host = "", upgrade } = headers;
    const { own, publicOrigin } = this.#options;
    if (headers["sec-fetch-site"] === "same-origin") return true;
    if (origin !== undefined) return origin === publicOrigin || isOwnOrigin(origin, host, own());
    return (method === "GET" || method === "HEAD") && upgrade === undefined;
  }
}

/** Prefix of cookies that only this host can have set, over TLS. */
export const HOST = "__Host-";

/** The value of a cookie of a request. */
export function cookieIn({ headers }: IncomingMessage, name: string): string | undefined {
  const parts = headers.cookie?.split(";").map((part) => part.trim());
  return parts?.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
}

function isOfThisMachine({ headers: { host = "" } }: IncomingMessage): boolean {
  return isLoopbackAuthority(host);
}

/** The owner of the program at the other end of a connection; unknown on systems other than Linux. */
export type PeerUser = "owner" | "other" | "remote" | "unknown";

type SocketAddresses = Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">;

const found = new WeakMap<SocketAddresses, PeerUser>();

/**
 * The user at the other end of a connection, as the kernel has it. RFC 6265, section 8.5: cookies are
 * not isolated by port. A browser sends ours to every server of the same name, also to one of another
 * user, who could then use it from a program of theirs.
 */
export function peerUser(socket: SocketAddresses): PeerUser {
  return found.getOrInsertComputed(socket, lookUp);
}

function lookUp({ remoteAddress, remotePort, localAddress, localPort }: SocketAddresses): PeerUser {
  const me = process.getuid?.();
  if (remoteAddress === undefined || localAddress === undefined || me === undefined) {
    return "unknown";
  }
  const tables = ["tcp", "tcp6"].map((name) => {
    return attempt(() => readFileSync(`/proc/net/${name}`, "utf8"));
  });
  if (tables.every((table) => table === undefined)) return "unknown";
  const ends = [endOf(remoteAddress, remotePort), endOf(localAddress, localPort)].join(" ");
  const users = tables.flatMap((table) => usersOf(table ?? "", ends));
  if (users.length > 0) return users.every((uid) => uid === me || uid === 0) ? "owner" : "other";
  return isOwnAddress(remoteAddress) ? "other" : "remote";
}

/**
 * The users whose programs have a connection with these two ends open. Ports alone would not do: on
 * another address of loopback, somebody else has the same ports. A connection with inode 0 has no
 * program any more, and the user in its line means nothing.
 */
function usersOf(table: string, ends: string): number[] {
  return table.split("\n").flatMap((line) => {
    const [, local = "", remote = "", , , , , uid, , inode] = line.trim().split(/\s+/);
    const isIt = `${local} ${remote}`.replaceAll(MAPPED, "") === ends && inode !== "0";
    return isIt ? [Number(uid)] : [];
  });
}

/** An address of IPv4 in one of IPv6: the same connection is in either table. */
const MAPPED = new RegExp(`\\b${hexWords(addressBytes("::ffff:0:0").subarray(0, 12))}`, "g");
const MAPPED_TEXT = /^::ffff:(?=[\d.]+$)/i;

/** One end of a connection, in the form of the kernel's tables. */
function endOf(address: string, port = 0): string {
  const bare = address.replace(MAPPED_TEXT, "");
  return `${hexWords(addressBytes(bare))}:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Words of 32 bits in the machine's own order of bytes, as the tables have them. */
function hexWords(bytes: Buffer): string {
  const ordered = endianness() === "LE" ? Buffer.from(bytes).swap32() : bytes;
  return ordered.toString("hex").toUpperCase();
}
