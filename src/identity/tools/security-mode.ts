import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { replaceFile } from "../../store/replace-file.ts";

const SECURITY_MODES = ["maximum_security", "developer_workflow", "trusted_workstation"] as const;
export type SecurityMode = (typeof SECURITY_MODES)[number];

export const MODE_WORDS: Readonly<Record<SecurityMode, string>> = {
  maximum_security:
    "gpg-agent's cache is cleared before every guarded commit: each signature asks a person.",
  developer_workflow: "gpg-agent caches PINs and passphrases for as long as it is configured to.",
  trusted_workstation: "The PIN comes from a hardware security module.",
};

/** The security mode of signing. It applies to the user on this machine until it is changed. */
export class SecurityModes {
  readonly path: string;

  constructor(data: string) {
    this.path = join(data, "identity", "security-mode.json");
  }

  async get(): Promise<SecurityMode> {
    try {
      const { mode } = JSON.parse(await readFile(this.path, "utf8")) as { mode?: unknown };
      const known = SECURITY_MODES.find((each) => each === mode);
      if (known !== undefined) return known;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Never set.
      if (code === "ENOENT" || code === "ENOTDIR") return "developer_workflow";
    }
    // It was set, but the file is unreadable: use the strictest mode.
    return "maximum_security";
  }

  async set(mode: SecurityMode): Promise<void> {
    if (mode === "trusted_workstation") {
      const why = "Trunkline does not store PINs";
      const next = "Use developer_workflow, and let gpg-agent cache the PIN";
      throw new TrunklineError("usage", `Cannot set trusted_workstation: ${why}. ${next}`);
    }
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    await replaceFile(this.path, `${JSON.stringify({ mode })}\n`);
  }
}
