import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";

import { unpackDebianPackages } from "./quic-go/debian-packages.ts";

const CACHE = join(import.meta.dirname, "../../.cache/openssl");
/** The command, and all that it needs from a release that may be newer than the machine's. */
const PACKAGES = ["openssl", "libssl3t64", "libc6", "libzstd1", "zlib1g"];

/** How to start an openssl whose s_client speaks QUIC, or what is missing for that. */
export type OpensslCommand = readonly [string, ...string[]];

/** The machine's own where it is new enough, else Debian's, which is fetched and not installed. */
export async function opensslWithQuic(): Promise<OpensslCommand | { readonly missing: string }> {
  if (speaksQuic(["openssl"])) return ["openssl"];
  try {
    if (!existsSync(CACHE)) await unpackDebianPackages("trixie", PACKAGES, CACHE);
  } catch (error) {
    const why = (error as Error).message.split("\n", 1)[0];
    return { missing: `needs OpenSSL 3.5 or later on the PATH (${why})` };
  }
  const [loader = ""] = globSync(join(CACHE, "usr/lib/*/ld-linux-*.so.*"));
  const libraries = join(loader, "..");
  const command = [loader, "--library-path", libraries, join(CACHE, "usr/bin/openssl")] as const;
  if (speaksQuic(command)) return command;
  return { missing: "needs OpenSSL 3.5 or later on the PATH (Debian's does not run here)" };
}

function speaksQuic([command, ...args]: OpensslCommand): boolean {
  const { stdout } = spawnSync(command, [...args, "version"], { encoding: "utf8" });
  const [, major = 0, minor = 0] = /^OpenSSL (\d+)\.(\d+)/.exec(stdout ?? "") ?? [];
  return Number(major) > 3 || (Number(major) === 3 && Number(minor) >= 5);
}
