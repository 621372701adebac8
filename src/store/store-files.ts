import { join } from "node:path";

// Names of files in the data folder. They are here so that code that only watches a file need not load the
// store that writes it, which would delay the start of `trunkline mcp`.

/** The database of review threads. */
export const REVIEWS_FILE = "reviews.db";

/** The lists of models that providers gave last time. */
export const MODELS_FILE = "models.json";

/** The file that says which tools of other servers were approved. */
export function approvalsPath(data: string): string {
  return join(data, "approvals.json");
}

/** The file that says at which MCP servers somebody has logged in. */
export function loginsPath(data: string): string {
  return join(data, "logins.json");
}
