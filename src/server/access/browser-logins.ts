import type { IncomingMessage } from "node:http";

import { type Device, Devices } from "../../store/access/devices.ts";
import type { OwnerToken } from "../../store/access/access-token.ts";
import { hostOf, isLoopbackAuthority, isOwnOrigin, type OwnAddress } from "./refuse-foreign.ts";
import { deviceName } from "./device-name.ts";
import { peerUser } from "./peer-user.ts";

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
    const secret = this.#cookieOf(request);
    if (id === undefined || secret === undefined) return undefined;
    await this.#options.devices.pair(id);
    return this.#cookie(request, secret, true);
  }

  /** The id of the device that sent a request; undefined where it is not logged in. */
  find(request: IncomingMessage): string | undefined {
    const secret = this.#cookieOf(request);
    if (secret === undefined || !this.#isOfOwnPage(request)) return undefined;
    const { devices } = this.#options;
    const device = devices.find(secret);
    if (device === undefined || !this.#isOfOwner(device)) return undefined;
    if (device.isLocal !== isOfThisMachine(request) || this.isFromOther(request)) return undefined;
    if (device.isOwn === true && peerUser(request.socket) === "remote") return undefined;
    devices.see(device);
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
    const secret = this.isFromOther(request) ? undefined : this.#cookieOf(request);
    const device = devices.find(secret ?? "");
    if (device !== undefined) await devices.remove(device.id);
    return `${this.#name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;
  }

  #isOfOwner({ mark }: Device): boolean {
    return mark === this.#options.owner.mark;
  }

  #cookie(request: IncomingMessage, secret: string, isPaired: boolean): string {
    // Behind a proxy that terminates TLS, only the browser's origin tells.
    const isSecure =
      this.#options.own().scheme === "https" || request.headers.origin?.startsWith("https:");
    const parts = [`${this.#name}=${secret}`, "Path=/", "HttpOnly", "SameSite=Strict"];
    parts.push(`Max-Age=${Devices.goodFor(isPaired) / 1000}`);
    if (isSecure === true) parts.push("Secure");
    return parts.join("; ");
  }

  /** RFC 6265, section 8.5: cookies are not isolated by port, so the name has the port. */
  get #name(): string {
    return `trunkline_${this.#options.own().port}`;
  }

  #cookieOf({ headers: { cookie = "" } }: IncomingMessage): string | undefined {
    const start = `${this.#name}=`;
    const parts = cookie.split(";").map((part) => part.trim());
    return parts.find((part) => part.startsWith(start))?.slice(start.length);
  }

  /**
   * Whether a page of ours made the request, or a person did. Foreign pages were refused before; a
   * browser that sends neither `Origin` nor `Sec-Fetch-Site` may only read.
   */
  #isOfOwnPage({ headers, method }: IncomingMessage): boolean {
    const { origin, host = "", upgrade } = headers;
    const { own, publicOrigin } = this.#options;
    if (headers["sec-fetch-site"] === "same-origin") return true;
    if (origin !== undefined) return origin === publicOrigin || isOwnOrigin(origin, host, own());
    return (method === "GET" || method === "HEAD") && upgrade === undefined;
  }
}

function isOfThisMachine({ headers: { host = "" } }: IncomingMessage): boolean {
  return isLoopbackAuthority(host);
}
