import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

import { isLoopbackAuthority } from "../http/loopback.ts";

/** What is known of the user whose program is at the other end of a connection. */
type PeerUser = "owner" | "other" | "unknown";

const found = new WeakMap<Socket, PeerUser>();

/**
 * Whether a request to a loopback name comes from a program of another user, as far as Linux tells.
 * RFC 6265, section 8.5: cookies are not isolated by port. A browser sends ours to every server of
 * the same name, also to one of another user, who could then use it from a program of theirs. A
 * request to any other name may come through a proxy, whose user says nothing.
 */
export function isFromOtherUser({ headers, socket }: IncomingMessage): boolean {
  return isLoopbackAuthority(headers.host ?? "") && peerUser(socket) === "other";
}

function peerUser(socket: Socket): PeerUser {
  let user = found.get(socket);
  if (user === undefined) found.set(socket, (user = lookUp(socket)));
  return user;
}

function lookUp({ remoteAddress, remotePort, localPort }: Socket): PeerUser {
  const address = remoteAddress?.replace(/^::ffff:/, "") ?? "";
  if (!address.startsWith("127.") && address !== "::1") return "unknown";
  if (remotePort === undefined || localPort === undefined || process.getuid === undefined) {
    return "unknown";
  }
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(readTable);
  if (tables.every((table) => table === undefined)) return "unknown";
  const ends = { from: hexPort(remotePort), to: hexPort(localPort), me: process.getuid() };
  return tables.some((table) => hasOwner(table ?? "", ends)) ? "owner" : "other";
}

/**
 * Whether a table has the connection between two ports, and its program runs as our user or as root.
 * A connection with inode 0 has no program any more, and the user in its line means nothing.
 */
function hasOwner(
  table: string,
  { from, to, me }: { readonly from: string; readonly to: string; readonly me: number },
): boolean {
  return table.split("\n").some((line) => {
    const [, local = "", remote = "", , , , , uid, , inode] = line.trim().split(/\s+/);
    if (!local.endsWith(from) || !remote.endsWith(to) || !isLoopback(local)) return false;
    return inode !== "0" && (Number(uid) === me || Number(uid) === 0);
  });
}

/** 127.0.0.0/8 and ::1 as the tables write them, the first also as an address of IPv6. */
function isLoopback(local: string): boolean {
  const [address = ""] = local.split(":");
  return /^(?:0000000000000000FFFF0000)?[0-9A-F]{6}7F$|^0{24}01000000$/.test(address);
}

function hexPort(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

function readTable(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
