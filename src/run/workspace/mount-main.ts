// Mounts workspaces, as root, for the process that started it: one JSON line for each request and answer.
import { dlopen } from "node:ffi";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readlinkSync, rmdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

import { originalError } from "../../base/errors.ts";
import { addressOf, fixedBuffer, fixedText, type Pointer } from "../../base/process/ffi.ts";
import type { MountRequest } from "./mounts.ts";

// linux/mount.h; the calls have the same numbers on every processor.
const OPEN_TREE = 428n;
const MOVE_MOUNT = 429n;
const MOUNT_SETATTR = 442n;
const OPEN_TREE_CLONE = 1n;
const CLOEXEC = 0x80000n;
const MOVE_MOUNT_F_EMPTY_PATH = 4n;
const AT_FDCWD = -100n;
const AT_EMPTY_PATH = 0x1000n;
const MOUNT_ATTR_IDMAP = 0x100000n;
const MS_NOSUID = 2n;
const MS_NODEV = 4n;
const MNT_DETACH = 2;

const c = dlopen(null, {
  syscall: { arguments: ["i64", "i64", "i64", "i64", "i64", "i64"], return: "i64" },
  mount: { arguments: ["pointer", "pointer", "pointer", "u64", "pointer"], return: "i32" },
  umount2: { arguments: ["pointer", "i32"], return: "i32" },
  close: { arguments: ["i32"], return: "i32" },
}).functions;

/** Memory that native code reads, kept while one request is handled. */
let kept: Buffer[] = [];

function keep(fixed: Buffer): Pointer {
  kept.push(fixed);
  return addressOf(fixed);
}

function text(value: string): Pointer {
  return keep(fixedText(value));
}

/**
 * A user namespace that swaps a user and root: in a mount through it, root's files on disk belong to
 * the user, and the other way round.
 */
async function openUsers(uid: number, gid: number): Promise<number> {
  const holder = spawn("unshare", ["--user", "cat"], { stdio: ["pipe", "ignore", "ignore"] });
  using ends = new DisposableStack();
  ends.defer(() => holder.stdin.end());
  await once(holder, "spawn");
  const link = `/proc/${holder.pid}/ns/user`;
  const own = readlinkSync("/proc/self/ns/user");
  for (let attempt = 0; readlinkSync(link) === own; attempt++) {
    if (attempt > 2_000) throw new Error("unshare did not create a user namespace in time");
    await delay(1);
  }
  writeFileSync(`/proc/${holder.pid}/uid_map`, `0 ${uid} 1\n${uid} 0 1\n`);
  writeFileSync(`/proc/${holder.pid}/gid_map`, `0 ${gid} 1\n${gid} 0 1\n`);
  return openSync(link, "r");
}

/** Mounts a folder at another path, where its files have another owner. */
function showAs(users: number, folder: string, at: string): void {
  const tree = c.syscall(OPEN_TREE, AT_FDCWD, text(folder), OPEN_TREE_CLONE | CLOEXEC, 0n, 0n);
  if (tree < 0n) throw new Error(`cannot open '${folder}' as a tree`);
  using ends = new DisposableStack();
  ends.defer(() => c.close(Number(tree)));
  const attributes = fixedBuffer(32);
  attributes.writeBigUInt64LE(MOUNT_ATTR_IDMAP, 0);
  attributes.writeBigUInt64LE(BigInt(users), 24);
  const address = keep(attributes);
  if (c.syscall(MOUNT_SETATTR, tree, text(""), AT_EMPTY_PATH, address, 32n) !== 0n) {
    throw new Error(
      `the file system of '${folder}' does not support mounts with another owner (idmapped mounts)`,
    );
  }
  const flags = MOVE_MOUNT_F_EMPTY_PATH;
  if (c.syscall(MOVE_MOUNT, tree, text(""), AT_FDCWD, text(at), flags) !== 0n) {
    throw new Error(`cannot mount at '${at}'`);
  }
}

async function mount(request: Extract<MountRequest, { verb: "mount" }>): Promise<void> {
  const { changes, tree, user } = request;
  let [lowers, own] = [request.lowers, `${changes}/layer`];
  // The overlay keeps its layers open.
  using ends = new DisposableStack();
  if (user !== undefined) {
    const users = await openUsers(user.uid, user.gid);
    ends.defer(() => closeSync(users));
    const show = (folder: string, index: number): string => {
      const at = `${changes}/shown-${index}`;
      mkdirSync(at, { recursive: true });
      showAs(users, folder, at);
      ends.defer(() => {
        c.umount2(text(at), MNT_DETACH);
        rmdirSync(at);
      });
      return at;
    };
    own = show(own, 0);
    lowers = lowers.map((folder, index) => show(folder, index + 1));
  }
  const options = `lowerdir=${lowers.join(":")},upperdir=${own}/upper,workdir=${own}/work`;
  const overlay = text("overlay");
  const flags = MS_NOSUID | MS_NODEV;
  if (c.mount(overlay, text(tree), overlay, flags, text(options)) !== 0) {
    throw new Error("overlayfs refuses these layers");
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as MountRequest;
  try {
    if (request.verb === "mount") await mount(request);
    else if (c.umount2(text(request.tree), MNT_DETACH) !== 0)
      throw new Error(`'${request.tree}' is not mounted`);
    process.stdout.write(`${JSON.stringify({ id: request.id })}\n`);
  } catch (failure) {
    const error = originalError(failure);
    const problem = error instanceof Error ? error.message : String(error);
    process.stdout.write(`${JSON.stringify({ id: request.id, problem })}\n`);
  }
  kept = [];
}
