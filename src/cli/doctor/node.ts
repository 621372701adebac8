import type { Finding } from "./finding.ts";

/** As in `engines` of package.json. */
const OLDEST = { major: 26, minor: 1 };

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNew = major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor);
  if (isNew) return { state: "ok", what: "Node", says: version };
  const needed = `${OLDEST.major}.${OLDEST.minor}`;
  return {
    state: "fail",
    what: "Node",
    says: `${version} is older than ${needed}`,
    next: `Install Node ${needed} or newer.`,
  };
}
