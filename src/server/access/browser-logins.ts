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

export type BrowserLogins = ReturnType<typeof browserLogins>;

/** The browsers that the owner has logged in, known by a cookie. */
export function browserLogins(options: BrowserLoginsOptions) {
  const { owner, devices, own, publicOrigin, proxied } = options;

  /** Logs in the browser that sent the request. Returns its `Set-Cookie` header. */
  async function begin(request: IncomingMessage, isPaired = false): Promise<string> {
    const { secret } = await devices.add({
      name: deviceName(request.headers["user-agent"]),
      isPaired,
      mark: owner.mark,
      isLocal: isOfThisMachine(request),
      isOwn: peerUser(request.socket) === "owner",
    });
    return ownCookie(request, secret, isPaired);
  }

  /**
   * Keeps the browser that sent the request logged in for as long as a paired device. Returns its new
   * `Set-Cookie` header; undefined where it has no login.
   */
  async function pair(request: IncomingMessage): Promise<string | undefined> {
    const id = find(request);
    const secret = secretsIn(request).find((each) => devices.find(each)?.id === id);
    if (id === undefined || secret === undefined) return undefined;
    await devices.pair(id);
    return ownCookie(request, secret, true);
  }

  /** The id of the device that sent a request; undefined where it is not logged in. */
  function find(request: IncomingMessage): string | undefined {
    const secrets = secretsIn(request);
    if (secrets.length === 0 || !isOfOwnPage(request)) return undefined;
    const device = secrets.map((secret) => devices.find(secret)).find(Boolean);
    if (device === undefined || !isOfOwner(device)) return undefined;
    if (device.isLocal !== isOfThisMachine(request) || isFromOther(request)) return undefined;
    if (device.isOwn === true && peerUser(request.socket) === "remote") return undefined;
    devices.note(device);
    return device.id;
  }

  /** Whether a program of another user of this machine sent a request, whatever its headers say. */
  function isFromOther({ headers, socket }: IncomingMessage): boolean {
    const isProxied = proxied.has(hostOf(headers.host ?? "") ?? "");
    return !isProxied && peerUser(socket) === "other";
  }

  function isLive(id: string): boolean {
    const device = devices.get(id);
    return device !== undefined && isOfOwner(device);
  }

  /**
   * Logs out the browser that sent a request, and none whose cookie another user has seen. Returns the
   * `Set-Cookie` header that removes the cookie.
   */
  async function end(request: IncomingMessage): Promise<string> {
    const secrets = isFromOther(request) ? [] : secretsIn(request);
    for (const secret of secrets) {
      const device = devices.find(secret);
      if (device !== undefined) await devices.remove(device.id);
    }
    return cookie(request, cookieName(), "", 0);
  }

  function isOfOwner({ mark }: Device): boolean {
    return mark === owner.mark;
  }

  function ownCookie(request: IncomingMessage, secret: string, isPaired: boolean): string {
    return cookie(request, cookieName(), secret, Devices.goodFor(isPaired));
  }

  /** A `Set-Cookie` header. Over TLS, no other host can set a cookie of that name (RFC 6265bis, § 4.1.3.2). */
  function cookie(
    request: IncomingMessage,
    name: string,
    value: string,
    milliseconds: number,
  ): string {
    const rest = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${milliseconds / 1000}`;
    return isSecure(request)
      ? `${HOST}${name}=${value}; ${rest}; Secure`
      : `${name}=${value}; ${rest}`;
  }

  /** Whether a browser has come over TLS. Behind a proxy that ends it, only the browser's origin tells. */
  function isSecure({ headers }: IncomingMessage): boolean {
    const { scheme } = own();
    return scheme === "https" || headers.origin?.startsWith("https:") === true;
  }

  /** RFC 6265, section 8.5: cookies are not isolated by port, so the name has the port. */
  function cookieName(): string {
    return `trunkline_${own().port}`;
  }

  /** The safer cookie first. Older cookies, and those of plain HTTP on this machine, have the bare name. */
  function secretsIn(request: IncomingMessage): string[] {
    const names = [HOST + cookieName(), cookieName()];
    return names.flatMap((name) => cookieIn(request, name) ?? []);
  }

  /**
   * Whether a page of ours made the request, or a person did. Foreign pages were refused before; a
   * browser that sends neither `Origin` nor `Sec-Fetch-Site` may only read.
   */
  function isOfOwnPage({ headers, method }: IncomingMessage): boolean {
    const { origin, host = "", upgrade } = headers;
    if (headers["sec-fetch-site"] === "same-origin") return true;
    if (origin !== undefined) return origin === publicOrigin || isOwnOrigin(origin, host, own());
    return (method === "GET" || method === "HEAD") && upgrade === undefined;
  }

  return { begin, pair, find, isFromOther, isLive, end, cookie, isSecure, isOfOwnPage };
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
