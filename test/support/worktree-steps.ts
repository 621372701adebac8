// Creates, lands or removes the work tree of a session, in a process that a test kills.
import { landWorktree } from "../../src/worktree/land.ts";
import { folderOf, readRecord, Worktrees } from "../../src/worktree/worktrees.ts";

const [, , action, data = "", repository = "", session = ""] = process.argv;
const worktrees = new Worktrees({ data, env: process.env, carry: ["*.env"] });
if (action === "create") await worktrees.create(session, repository, {});
else if (action === "remove") await worktrees.remove(session);
else {
  const place = await readRecord(folderOf(data, session));
  if (place === undefined) throw new Error("There is no work tree");
  const how = action === "squash" ? "squash" : "merge";
  const { programs } = place;
  const allow = async (): Promise<boolean> => false;
  await landWorktree(place, { how, title: "Work", env: process.env, programs, allow });
}
