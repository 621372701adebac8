import { attempt } from "./attempt.ts";

/**
 * The normal form of a host: small letters, no dot at the end, an IPv6 address in its short form and
 * without brackets. Undefined for hosts that programs parse differently: other alphabets, encodings, `0x7f.1`.
 */
export function normalHost(text: string): string | undefined {
  const [, address] = /^\[?([\da-f.]*:[\da-f.]*:[\da-f:.]*)\]?$/i.exec(text) ?? [];
  const plain = text.toLowerCase().replace(/\.$/, "");
  if (address === undefined && !/^\w[\w-]*(?:\.[\w-]+)*$/.test(plain)) return undefined;
  const found = URL.parse(`http://${address === undefined ? plain : `[${address}]`}/`)?.hostname;
  if (address !== undefined) return found?.slice(1, -1);
  return found === plain ? plain : undefined;
}

/** The bytes of an IP address, four or sixteen, without its zone. */
export function addressBytes(address: string): Buffer<ArrayBuffer> {
  if (!address.includes(":")) return Buffer.from(address.split(".").map(Number));
  // A URL has it in its shortest form, without an IPv4 address at its end.
  const { hostname } = new URL(`http://[${address.replace(/%.*/, "")}]`);
  const halves = hostname.slice(1, -1).split("::");
  const [head = [], tail = []] = halves.map((half) => half.split(":").filter(Boolean));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex");
}

interface HostAndPort {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

/** A host in an address: with its port, and brackets around an IPv6 address. */
export function hostText({ host = "", port }: HostAndPort): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return port === undefined ? name : `${name}:${port}`;
}

/** Encoded: a slash, a backslash, control characters, and `%` itself, which would hide a second encoding. */
const HIDDEN = /%(?:2F|5C|25|[01][\dA-F]|7F)/;
/** Empty and dot segments; also `..;x`, since some servers drop what follows the semicolon. */
const STRANGE_STEP = /(?:^|\/)(?:\.\.?(?:;[^/]*)?)?(?=\/|$)/;

/**
 * The normal form of a path: letters, digits, `-`, `.`, `_` and `~` as themselves, other encodings in
 * capitals. Undefined for a path that could lead elsewhere than it seems to: with dot segments, however
 * they are encoded, with empty segments, backslashes, or characters that end a path.
 */
export function normalPath(text: string): string | undefined {
  if (/%(?![\da-f]{2})|[\\?#\p{Cc}\p{Cf}\p{Z}]/iu.test(text)) return undefined;
  const path = text.replaceAll(/%../g, (code) => {
    const plain = String.fromCharCode(parseInt(code.slice(1), 16));
    return /[\w.~-]/.test(plain) ? plain : code.toUpperCase();
  });
  const steps = path.replace(/^\//, "").replace(/\/$/, "");
  if (HIDDEN.test(path) || (steps !== "" && STRANGE_STEP.test(steps))) return undefined;
  return attempt(() => decodeURIComponent(path)) === undefined ? undefined : path;
}
