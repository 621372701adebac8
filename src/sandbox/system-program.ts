import { accessSync, constants } from "node:fs";
import { join } from "node:path";

/** Only folders of the system: PATH may name a folder of the project. */
const FOLDERS = [
  ...["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"],
  ...["/run/wrappers/bin", "/run/current-system/sw/bin"],
];

/** The path of a system program; undefined if it is not installed. */
export function systemProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
