import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { type Identity, splitHost } from "../identity.ts";

/**
 * A block of lines that we manage in somebody else's file, between two comments. All other bytes
 * stay, and the block can be removed again.
 */
interface ManagedBlock {
  readonly lines: readonly string[];
  /** Where a new block is inserted: ssh uses the first value, git the last. */
  readonly position: "start" | "end";
}

/** The name of a block in a list of changed settings. */
export const MANAGED_BLOCK = "managed block";

const BEGIN = "# BEGIN TRUNKLINE MANAGED";
const END = "# END TRUNKLINE MANAGED";
/** Notes in the block's first line: what else to undo when it is removed. */
const NEW_FILE = "(new file)";
const OPEN_LINE = "(line end added)";
const BOM = "\u00ef\u00bb\u00bf";

interface BlockPosition {
  readonly start: number;
  readonly end: number;
  readonly note: string;
}

/** The file with the block inserted or updated. */
export function withBlock(bytes: Buffer | undefined, block: ManagedBlock): Buffer {
  // Latin-1: one character is one byte, so no byte changes.
  const text = bytes?.toString("latin1") ?? "";
  const eol = /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
  const found = find(text);
  const render = (note: string): string => {
    const first = note === "" ? BEGIN : `${BEGIN} ${note}`;
    const lines = block.lines.map((line) => Buffer.from(line, "utf8").toString("latin1"));
    return [first, ...lines, END].map((line) => `${line}${eol}`).join("");
  };
  if (found !== undefined) {
    const isLast = found.end === text.length && !text.endsWith("\n");
    const rendered = render(found.note);
    return toBytes(
      text.slice(0, found.start) +
        (isLast ? rendered.slice(0, -eol.length) : rendered) +
        text.slice(found.end),
    );
  }
  if (bytes === undefined) return toBytes(render(NEW_FILE));
  const head = text.startsWith(BOM) ? BOM : "";
  if (block.position === "start") return toBytes(head + render("") + text.slice(head.length));
  const isOpen = text.length > head.length && !text.endsWith("\n");
  return toBytes(text + (isOpen ? eol + render(OPEN_LINE) : render("")));
}

/** The file without the block; undefined if the file was created for it and is empty now. */
export function withoutBlock(bytes: Buffer | undefined): Buffer | undefined {
  if (bytes === undefined) return undefined;
  const text = bytes.toString("latin1");
  const found = find(text);
  if (found === undefined) return bytes;
  const { note, end } = found;
  // The line end before the block was added for it; keep it if something follows.
  const isAdded = note === OPEN_LINE && end === text.length;
  const before = text.slice(0, found.start);
  const rest = (isAdded ? before.replace(/\r?\n$/, "") : before) + text.slice(end);
  return rest === "" && note === NEW_FILE ? undefined : toBytes(rest);
}

/** The lines of the block, if the file has one. */
export function blockLines(bytes: Buffer | undefined): string[] | undefined {
  const text = bytes?.toString("latin1") ?? "";
  const found = find(text);
  if (found === undefined) return undefined;
  const lines = text.slice(found.start, found.end).trimEnd().split(/\r?\n/);
  return lines.slice(1, -1).map((line) => Buffer.from(line, "latin1").toString("utf8"));
}

function find(text: string): BlockPosition | undefined {
  const begins = [
    ...text.matchAll(/(?<=^|\n|^\u00ef\u00bb\u00bf)# BEGIN TRUNKLINE MANAGED *(.*)/g),
  ];
  const ends = [...text.matchAll(/(?<=\n)# END TRUNKLINE MANAGED *\r?(?:\n|$)/g)];
  const [begin] = begins;
  const [end] = ends;
  if (begin === undefined && end === undefined) return undefined;
  if (begins.length !== 1 || ends.length !== 1 || begin === undefined || end === undefined) {
    throw broken("there must be one line of each");
  }
  if (end.index < begin.index) throw broken("they are in the wrong order");
  const note = (begin[1] ?? "").replace(/\r$/, "").trim();
  return { start: begin.index, end: end.index + end[0].length, note };
}

function broken(why: string): TrunklineError {
  const says = `Cannot find the lines that Trunkline manages, between '${BEGIN}' and '${END}'`;
  return new TrunklineError("config", `${says}: ${why}. Delete them by hand`);
}

function toBytes(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

/** Whether an identity needs an entry in the SSH configuration. */
export function needsSshHost({ sshHost, host, sshKey }: Identity): boolean {
  return sshHost !== undefined && host !== undefined && sshHost !== host && sshKey !== undefined;
}

/** The SSH configuration for the hosts of identities. */
export function sshBlockLines(identities: readonly Identity[]): string[] {
  const hosts = identities
    .filter(needsSshHost)
    .flatMap(({ sshHost, host, sshKey = "" }) => [
      `Host ${sshHost}`,
      `    HostName ${splitHost(host ?? "").name}`,
      "    User git",
      `    IdentityFile ${sshQuote(sshKey)}`,
      "    IdentitiesOnly yes",
    ]);
  // Otherwise the lines after the block would belong to the last host only (ssh_config(5)).
  return hosts.length === 0 ? [] : [...hosts, "Match all"];
}

function sshQuote(path: string): string {
  return `"${path.replaceAll("%", "%%").replaceAll(/["\\]/g, "\\$&")}"`;
}

/** A condition of `includeIf` (git-config(1), "Conditional includes"). */
export interface IncludeCondition {
  readonly text: string;
  /** The more, the better it fits, as in detection. */
  readonly weight: number;
}

/** Included for submodules. */
export const IN_SUBMODULES = "gitdir:**/.git/**/modules/**";

/** The conditions for an identity: its folders, its SSH host, and the owners on its host. */
export function includeConditions(identity: Identity): IncludeCondition[] {
  const { match, sshHost, host, user, organizations } = identity;
  const rules = match.flatMap((rule): IncludeCondition[] => {
    const { path, owner, host: at = "*", remote } = rule;
    const count = Object.keys(rule).length;
    if (remote !== undefined || (path !== undefined && count > 1)) return [];
    if (owner !== undefined) return ownedBy(at, owner, 1000 + count * 100);
    if (path === undefined) return [];
    const weight = 1100 + Math.min(99, path.length / 4);
    return [{ text: `gitdir:${path.replace(/\/+$/, "")}/`, weight }];
  });
  const owners = [...organizations, ...(user === undefined ? [] : [user])];
  const own = host === undefined ? [] : owners.flatMap((owner) => ownedBy(host, owner, 0));
  if (sshHost === undefined || sshHost === host) return [...own, ...rules];
  // `alias:**` would never match: `**` has to follow a slash.
  return [...own, { text: `${REMOTE}git@${sshHost}:*/**`, weight: 800 }, ...rules];
}

const REMOTE = "hasconfig:remote.*.url:";

/** Whether a condition is about a remote. */
export function isOfRemote(condition: string): boolean {
  return condition.startsWith(REMOTE);
}

/** The forms that addresses of an owner's repositories have, over HTTPS and SSH. */
function ownedBy(host: string, owner: string, weight: number): IncludeCondition[] {
  const path = `${owner.replace(/\/+$/, "")}/**`;
  const { name } = splitHost(host);
  const web = [`https://${host}/`, `https://*@${host}/`];
  const ssh = [`git@${name}:`, `ssh://git@${name}/`, `ssh://git@${name}:*/`];
  return [...web, ...ssh].map((place) => {
    return { text: REMOTE + place + path, weight: weight + Math.min(99, owner.length) };
  });
}

/** Where the settings of an identity are kept for git to include. */
export function includedFile(folder: string, { name }: Identity): string {
  return join(folder, `${encodeURIComponent(name)}.gitconfig`);
}

/** The git configuration that includes the settings of identities. */
export function gitBlockLines(
  includes: readonly { readonly condition: string; readonly file: string }[],
): string[] {
  return includes.flatMap(({ condition, file }) => [
    `[includeIf "${condition.replaceAll(/["\\]/g, "\\$&")}"]`,
    `\tpath = "${file.replaceAll(/["\\]/g, "\\$&")}"`,
  ]);
}
