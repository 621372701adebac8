import type { AuditEntry } from "../../src/tool/audit.ts";
import { Policy, type PolicyRule } from "../../src/tool/policy.ts";
import { sampleTool } from "./sample-context.ts";
import { textResult, type Tool, type ToolResult } from "../../src/tool/tool.ts";
import { Toolbox } from "../../src/tool/toolbox.ts";

export const echo = sampleTool("echo", ({ text }) => textResult(String(text)), {
  definition: {
    name: "echo",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
});

/** A toolbox, its record and its reports. */
export function toolbox(tools: readonly Tool[], rules: readonly PolicyRule[] = []) {
  const entries: AuditEntry[] = [];
  const reports: Record<string, unknown>[] = [];
  const box = new Toolbox({
    policy: new Policy({ default: "allow", rules }),
    audit: { record: (entry) => entries.push(entry) },
    report: (event, fields) => reports.push({ event, ...fields }),
  });
  for (const tool of tools) box.add(tool);
  return { box, entries, reports };
}

export function textOf(result: ToolResult): unknown {
  return result.content[0]?.text;
}
