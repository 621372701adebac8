import { join } from "node:path";

/** Where the approvals are, in the data folder. */
export function approvalsPath(data: string): string {
  return join(data, "approvals.json");
}
