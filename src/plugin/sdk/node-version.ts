/** The first Node that can run plugins, with `node:ffi`. */
const WANTED: readonly [major: number, minor: number] = [26, 1];

/** What is wrong with a version of Node, and what to do. */
export function nodeProblem(version: string, path: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > WANTED[0] || (major === WANTED[0] && minor >= WANTED[1])) return undefined;
  const wanted = WANTED.join(".");
  const next =
    "start it with a newer one. `trunkline plugin add` takes the one that runs Trunkline.";
  return `This plugin needs Node ${wanted} or later, and ${path} is Node ${version}: ${next}`;
}

/** Ends the process if its Node cannot run plugins. Old Nodes run this, too. */
export function requireNode(): void {
  const problem = nodeProblem(process.versions.node, process.execPath);
  if (problem === undefined) return;
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
