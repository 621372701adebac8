/** Characters that HFS+ ignores in names (git's utf8.c). */
const INVISIBLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** Whether a path is that of a file in a repository: not outside of it, and not one of git's own. */
export function isRepositoryPath(path: string): boolean {
  const steps = path.split("/");
  const isOdd = steps.some((step) => step === "" || step === "." || step === "..");
  return !isOdd && !path.includes("\0") && !hasDotGit(path);
}

/** Whether a step of a path is `.git`, under any name that a file system accepts for it. */
export function hasDotGit(path: string): boolean {
  return path.split(/[/\\]/).some(isDotGit);
}

/** `.GIT`, `git~1` and `.git ` are other names for it on file systems of macOS and Windows. */
function isDotGit(step: string): boolean {
  const [name = ""] = step.replaceAll(INVISIBLE, "").split(":", 1);
  return /^(?:\.git|git~1)[. ]*$/i.test(name);
}
