import * as fs from "node:fs";

const MEMORY = "/dev/shm";
/** What Linux calls a file system in memory. */
const TMPFS = 0x01021994;
/** Bytes that must be free: ten times what tests that run at once have been seen to use. */
const ROOM = 4 * 1024 ** 3;

/**
 * Where tests keep their temporary files. They create and delete tens of thousands, for which a disk
 * takes a tenth of all processor time, so they are in memory if there is room and programs may be run
 * there. Whoever has chosen a folder keeps it. Undefined stands for the one that the system has.
 */
export function testFolder(env, { folder = MEMORY, mounts = "/proc/self/mounts" } = {}) {
  if (env.TMPDIR) return env.TMPDIR;
  try {
    const { type, bavail, bsize } = fs.statfsSync(folder);
    const mount = fs
      .readFileSync(mounts, "utf8")
      .split("\n")
      .map((line) => line.split(" "))
      .filter(([, at]) => at === folder)
      .pop();
    const isForPrograms = mount !== undefined && !/(?:^|,)(?:noexec|ro)(?:,|$)/.test(mount[3]);
    return type === TMPFS && isForPrograms && bavail * bsize >= ROOM ? folder : undefined;
  } catch {
    // There is none, or an old Node cannot tell.
    return undefined;
  }
}
