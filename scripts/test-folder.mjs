import * as fs from "node:fs";
import { dirname } from "node:path";

const MEMORY = "/dev/shm";
const SYSTEM = "/tmp";
/** What Linux calls a file system in memory. */
const TMPFS = 0x01021994;
/** Bytes that must be free: ten times what tests that run at once have been seen to use. */
const ROOM = 4 * 1024 ** 3;

/**
 * Where tests keep their temporary files. They create and delete tens of thousands, for which a disk
 * takes a tenth of all processor time, so they are in memory if there is room and programs may be run
 * there. Whoever has chosen a folder keeps it, unless root has chosen one that is closed to other users:
 * some tests of root are run as another user. Undefined stands for the one that the system has.
 */
export function testFolder(env, options = {}) {
  const { folder = MEMORY, mounts = "/proc/self/mounts" } = options;
  const { isRoot = process.getuid?.() === 0 } = options;
  const { TMPDIR: chosen } = env;
  if (chosen && !(isRoot && isClosed(chosen))) return chosen;
  const ofSystem = chosen ? SYSTEM : undefined;
  try {
    const { type, bavail, bsize } = fs.statfsSync(folder);
    const mount = fs
      .readFileSync(mounts, "utf8")
      .split("\n")
      .map((line) => line.split(" "))
      .filter(([, at]) => at === folder)
      .pop();
    const isForPrograms = mount !== undefined && !/(?:^|,)(?:noexec|ro)(?:,|$)/.test(mount[3]);
    return type === TMPFS && isForPrograms && bavail * bsize >= ROOM ? folder : ofSystem;
  } catch {
    // There is none, or an old Node cannot tell.
    return ofSystem;
  }
}

/** Whether others may not enter it. */
function isClosed(folder) {
  if (!fs.existsSync(folder)) return false;
  const path = fs.realpathSync(folder);
  return (fs.statSync(path).mode & 1) === 0 || (path !== dirname(path) && isClosed(dirname(path)));
}
