import { readFileSync } from "node:fs";
import { isIPv4, type Socket } from "node:net";
import { endianness } from "node:os";

import { groupsOf, isOwnAddress } from "../../base/private-address.ts";

/** Whose program is at the other end of a connection; unknown on systems other than Linux. */
export type PeerUser = "owner" | "other" | "remote" | "unknown";

type Ends = Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">;

const found = new WeakMap<Ends, PeerUser>();

/**
 * The user at the other end of a connection, as the kernel has it. RFC 6265, section 8.5: cookies are
 * not isolated by port. A browser sends ours to every server of the same name, also to one of another
 * user, who could then use it from a program of theirs.
 */
export function peerUser(socket: Ends): PeerUser {
  let user = found.get(socket);
  if (user === undefined) found.set(socket, (user = lookUp(socket)));
  return user;
}

function lookUp({ remoteAddress, remotePort, localAddress, localPort }: Ends): PeerUser {
  const me = process.getuid?.();
  if (remoteAddress === undefined || localAddress === undefined || me === undefined) {
    return "unknown";
  }
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(readTable);
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
const MAPPED = new RegExp(`\\b${hexWords([0, 0, 0, 0, 0, 0xff_ff])}`, "g");
const MAPPED_TEXT = /^::ffff:(?=[\d.]+$)/i;

/** One end of a connection, as the tables have it. */
function endOf(address: string, port = 0): string {
  const bare = address.replace(MAPPED_TEXT, "").replace(/%.*/, "");
  const [a = 0, b = 0, c = 0, d = 0] = bare.split(".").map(Number);
  const groups = isIPv4(bare) ? [a * 256 + b, c * 256 + d] : groupsOf(bare);
  return `${hexWords(groups)}:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Words of 32 bits in the machine's own order of bytes, as the tables have them. */
function hexWords(groups: readonly number[]): string {
  const bytes = groups.flatMap((group) => [group >> 8, group & 255]);
  const words = Array.from({ length: bytes.length / 4 }, (_, at) =>
    bytes.slice(at * 4, at * 4 + 4),
  );
  const ordered = endianness() === "LE" ? words.map((word) => word.toReversed()) : words;
  return Buffer.from(ordered.flat()).toString("hex").toUpperCase();
}

function readTable(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
