import { join } from "node:path";

import { attempt } from "../base/attempt.ts";
import { isObject, objectIn } from "../base/check.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { VERSION } from "../base/version.ts";
import type { WorkStep } from "./work-history.ts";

/** Agent Trace 0.1.0: where programs leave their records in a repository, one in a line. */
const FILE = join(".agent-trace", "traces.jsonl");
/** The most bytes of the file that are read. */
const LARGEST = 8 * 1024 * 1024;

/** Ranges that are kept: the last ones of the file. */
const MOST_RANGES = 20_000;

/** Lines of a file at a revision that an agent wrote, as a record says. */
interface TracedRange {
  readonly revision: string;
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly step: WorkStep;
}

/** The lines that records attribute to agents, by `REVISION:PATH`. The records are untrusted, and may have any form. */
export function readTraces(root: string): ReadonlyMap<string, TracedRange[]> {
  const options = { most: LARGEST, followsLinks: false, inside: [root] };
  return attempt(() => {
    const text = readRegularFile(join(root, FILE), options)?.toString("utf8") ?? "";
    const found = text.split("\n").flatMap((row) => rangesIn(objectIn(row) ?? {}));
    return Map.groupBy(found.slice(-MOST_RANGES), ({ revision, path }) => `${revision}:${path}`);
  }, new Map());
}

function rangesIn({ version, vcs, tool, files }: Record<string, unknown>): TracedRange[] {
  const revision = isObject(vcs) && vcs["type"] === "git" ? vcs["revision"] : undefined;
  // The schema has two numbers, the examples have three.
  if (!/^0\.1(?:\.\d+)?$/.test(String(version)) || typeof revision !== "string") return [];
  const agent = isObject(tool) && typeof tool["name"] === "string" ? tool["name"] : "an agent";
  return objects(files).flatMap(({ path, conversations }) =>
    objects(conversations).flatMap(({ ranges, contributor: by }) =>
      objects(ranges).flatMap(({ start_line, end_line, contributor = by }) => {
        if (!isObject(contributor) || contributor["type"] !== "ai") return [];
        const { model_id: model } = contributor;
        const named = typeof model === "string" ? { model } : {};
        const step = { by: "agent", agent, ...named, says: "Agent Trace" } as const;
        const [from, to] = [Number(start_line), Number(end_line)];
        return [{ revision, path: String(path), from, to, step }];
      }),
    ),
  );
}

function objects(list: unknown): Record<string, unknown>[] {
  return Array.isArray(list) ? list.filter((each) => isObject(each)) : [];
}

/** A record of a file as a commit has it. What is not certain is "unknown". */
export function traceRecord(
  path: string,
  revision: string,
  lines: readonly { readonly step: WorkStep; readonly certain: boolean }[],
): object {
  const conversations = new Map<string, { ranges: { start_line: number; end_line: number }[] }>();
  for (const [at, { step, certain }] of lines.entries()) {
    const { by, session, model } = step;
    const isAgents = certain && by === "agent";
    const type = isAgents ? "ai" : certain && by !== "unknown" ? "human" : "unknown";
    const isUuid = isAgents && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(session ?? "");
    const said = {
      ...(isUuid ? { url: `urn:uuid:${session}` } : {}),
      // As on models.dev.
      contributor: isAgents && model?.includes("/") ? { type, model_id: model } : { type },
    };
    const { ranges } = conversations.getOrInsertComputed(JSON.stringify(said), () => {
      return { ...said, ranges: [] };
    });
    const last = ranges.at(-1);
    if (last?.end_line === at) last.end_line = at + 1;
    else ranges.push({ start_line: at + 1, end_line: at + 1 });
  }
  return {
    version: "0.1.0",
    id: crypto.randomUUID(),
    timestamp: new Date().toISOString(),
    vcs: { type: "git", revision },
    tool: { name: "trunkline", version: VERSION },
    files: [{ path, conversations: [...conversations.values()] }],
  };
}
