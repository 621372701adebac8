import { TrunklineError } from "../../base/errors.ts";
import type { WorkspacePath } from "../files/workspace.ts";
import { MASK } from "../../base/text/mask.ts";
import type { ToolAnswer, ToolWork } from "./agent-tool.ts";
import { changeLocation, shownDiff, wholeDiff } from "./shown-diff.ts";

/** Subject of an "always" answer for changes of files. */

/**
 * Whether a file is only worked on. Editors and tools run what files such as `.vscode/tasks.json` or
 * `.envrc` say, and a link may lead to one.
 */
function isPlain({ name, real }: WorkspacePath): boolean {
  return !/(?:^|[\\/])\./.test(name) && real.endsWith(`/${name}`);
}

/** Shows a person the diff of a file, and writes it if they allow it. */
export async function changeFile(
  work: Pick<ToolWork, "allow" | "files">,
  target: WorkspacePath,
  change: { readonly old: string | undefined; readonly text: string },
): Promise<ToolAnswer> {
  const { old, text } = change;
  if (old === text) {
    throw new TrunklineError(
      "usage",
      `'${target.name}' has this content already: nothing to change`,
    );
  }
  if (text.split(MASK).length > (old ?? "").split(MASK).length) {
    const says =
      `Cannot write '${MASK}' to '${target.name}': it stands for a secret that you cannot see. ` +
      "Change only the lines around it, with edit_file";
    throw new TrunklineError("usage", says);
  }
  const locations = [changeLocation(target.path, old, text)];
  await work.allow({
    subject: { action: "edit" },
    covers: "every change of a file",
    title: `${old === undefined ? "Create" : "Edit"} ${target.name}`,
    content: [wholeDiff(target.path, old, text)],
    locations,
    isPlainEdit: isPlain(target),
  });
  await work.files.write(target, text, old);
  const lines = text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  const says = `${old === undefined ? "Created" : "Changed"} ${target.name} (${lines} lines now).`;
  return { text: says, content: [shownDiff(target.path, old, text)], locations };
}
