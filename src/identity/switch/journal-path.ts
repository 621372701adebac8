import { join } from "node:path";

/**
 * In a file of its own, so that a start can see that there is no journal without loading its code.
 */
export function journalPath(data: string): string {
  return join(data, "identity", "journal.jsonl");
}
