import { join, relative, resolve } from "node:path";

import type { Capability, DataApp } from "../base/capability/capability.ts";
import { TrunklineError } from "../base/errors.ts";
import { limitRefusal, mayUseFolder } from "../base/principal.ts";
import type { Offer } from "../tool/offer/offer.ts";
import {
  type Arguments,
  textResult,
  type ToolContext,
  type ToolDefinition,
  type ToolResult,
} from "../tool/tool.ts";

const WHY_LINE: ToolDefinition = {
  name: "why_line",
  title: "Say who wrote a line, and why",
  description:
    "Say which agent or person wrote a line of a file, in which session, for which prompt, who allowed it, " +
    "which review comment asked for it, and what it replaced. Changes nothing. Ask before you change " +
    "code whose purpose is not clear.",
  inputSchema: {
    type: "object",
    properties: {
      folder: { type: "string", minLength: 1, description: "Folder of the repository." },
      file: { type: "string", minLength: 1, description: "The file, relative to the folder." },
      line: { type: "integer", minimum: 1 },
    },
    required: ["file", "line"],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
};

/** Who wrote a line. */
export const authorship: Capability<DataApp, Offer> = {
  offer: ({ config }, offer) => {
    offer.tools.add({
      definition: WHY_LINE,
      purpose: "Review",
      project: { argument: "folder" },
      call: (args, context) => call(config.data, args, context),
    });
    return undefined;
  },
};

async function call(
  data: string,
  { file, line }: Arguments,
  { project, caller: { principal } }: ToolContext,
): Promise<ToolResult> {
  const { explainLine, toldExplanation } = await import("./explain-line.ts");
  const { WorkHistory } = await import("./work-history.ts");
  const folder = project?.folder ?? "";
  const history = WorkHistory.of(data, folder);
  if (history === undefined) {
    throw new TrunklineError("not-found", `'${folder}' is not in a git repository.`);
  }
  const path = relative(history.root, resolve(folder, String(file)));
  const whole = join(history.root, path);
  if (!mayUseFolder(principal, whole)) {
    const refusal = limitRefusal(principal, `the file '${whole}'`, `--folder ${folder}`);
    throw new TrunklineError("untrusted", refusal);
  }
  const explained = await explainLine({ data, history, path, line: Number(line), principal });
  const rows = toldExplanation(explained);
  return textResult(rows.map(([name, value]) => `${name}: ${value}`).join("\n"));
}
