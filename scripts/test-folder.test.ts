import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

// Plain JavaScript for old Nodes, without types.
const { testFolder } = (await import(new URL("test-folder.mjs", import.meta.url).href)) as {
  readonly testFolder: (
    env: NodeJS.ProcessEnv,
    options?: { readonly folder?: string; readonly mounts?: string; readonly isRoot?: boolean },
  ) => string | undefined;
};

const place = mkdtempSync(join(tmpdir(), "test-folder-"));

/** Says how a folder is mounted. */
function mounted(folder: string, options: string): string {
  const file = join(place, "mounts");
  writeFileSync(file, `/dev/vda / ext4 rw 0 0\ntmpfs ${folder} tmpfs ${options} 0 0\n`);
  return file;
}

function hasRoom(): boolean {
  if (process.platform !== "linux") return false;
  const { type, bavail, bsize } = statfsSync("/dev/shm");
  return type === 0x01021994 && bavail * bsize >= 4 * 1024 ** 3;
}

describe("the folder for the temporary files of tests", () => {
  after(() => rmSync(place, { recursive: true }));

  it(
    "is in memory where programs can be run there",
    {
      skip: !hasRoom() && "This machine has less than 4 GiB in /dev/shm.",
    },
    () => {
      const mounts = mounted("/dev/shm", "rw,relatime,size=9g");
      assert.equal(testFolder({}, { mounts }), "/dev/shm");
      for (const options of ["rw,nosuid,noexec", "ro,relatime"]) {
        assert.equal(testFolder({}, { mounts: mounted("/dev/shm", options) }), undefined, options);
      }
    },
  );

  it("is the system's where memory is no file system, or not there", () => {
    assert.equal(testFolder({}, { folder: "/proc", mounts: mounted("/proc", "rw") }), undefined);
    const folder = join(place, "none");
    assert.equal(testFolder({}, { folder, mounts: mounted(folder, "rw") }), undefined);
  });

  it("is the one that somebody has chosen", () => {
    assert.equal(testFolder({ TMPDIR: "/somewhere" }), "/somewhere");
  });

  it("is another if root has chosen one that other users cannot enter", () => {
    const options = { folder: "/proc", mounts: mounted("/proc", "rw") };
    const folder = mkdtempSync(join(place, "private-"));
    const inside = join(folder, "open");
    mkdirSync(inside);
    for (const TMPDIR of [folder, inside]) {
      assert.equal(testFolder({ TMPDIR }, { ...options, isRoot: true }), "/tmp");
      assert.equal(testFolder({ TMPDIR }, { ...options, isRoot: false }), TMPDIR);
    }
    assert.equal(testFolder({ TMPDIR: "/var/tmp" }, { ...options, isRoot: true }), "/var/tmp");
  });
});
