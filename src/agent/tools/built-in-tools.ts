import type { AgentTool } from "./agent-tool.ts";
import { editFile, multiEdit } from "./edit-file.ts";
import { gitCommit, gitDiff, gitLog, gitStatus } from "./git-tools.ts";
import { listFiles } from "./list-files.ts";
import { readFile } from "./read-file.ts";
import { runCommand } from "./run-command.ts";
import { searchFiles } from "./search-files.ts";
import { updatePlan } from "./update-plan.ts";
import { writeFile } from "./write-file.ts";

export const BUILT_IN_TOOLS: readonly AgentTool[] = [
  readFile,
  listFiles,
  searchFiles,
  editFile,
  multiEdit,
  writeFile,
  runCommand,
  gitStatus,
  gitDiff,
  gitLog,
  gitCommit,
  updatePlan,
];
