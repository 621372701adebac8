import { spawnSync } from "node:child_process";

const canMount = process.getuid?.() === 0 && spawnSync("unshare", ["--mount", "true"]).status === 0;

/** Why no overlay can be mounted here; false where one can. */
export const noOverlay: string | false =
  !canMount && "No overlay can be mounted here: that needs root with CAP_SYS_ADMIN.";
