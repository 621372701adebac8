import { basename, dirname } from "node:path";
import { attempt } from "../../base/attempt.ts";
import { makeFolder } from "../../base/file/path.ts";
import { watchFolder } from "../../base/file/watch-folder.ts";
import { type Approval, checkApproval, type Described, type Seen } from "../schema.gen.ts";
import { SharedList } from "../shared-list.ts";
import { approvalsPath } from "../store-files.ts";

/** Longest description that is stored, in characters. */
const LONGEST_KEPT = 64 * 1024;

/** The description of a tool. Members that nobody reads are left out. */
export function see(definition: Described & { readonly _meta?: unknown }): Seen {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  const ui = uiOf(definition._meta);
  const described = { name, title, description, inputSchema, outputSchema, annotations, ui };
  const text = canonicalJson(described);
  const time = new Date().toISOString();
  if (text.length > LONGEST_KEPT) return { fingerprint: fingerprintOf(text), time };
  return {
    // Computed on demand: for unchanged tools it is not needed.
    get fingerprint() {
      return fingerprintOf(text);
    },
    time,
    described,
  };
}

function uiOf(meta: unknown): unknown {
  const { ui, "ui/resourceUri": flat } = (meta ?? {}) as Record<string, unknown>;
  const { resourceUri = flat, visibility } = (ui ?? {}) as Record<string, unknown>;
  return resourceUri === undefined && visibility === undefined
    ? undefined
    : { resourceUri, visibility };
}

/** node:crypto is loaded on demand, since it would delay the start of `trunkline mcp` by 8 ms. */
function fingerprintOf(text: string): string {
  return process.getBuiltinModule("node:crypto").hash("sha256", text);
}

/** Whether two descriptions are equal. */
export function isSame(one: Seen, other: Seen): boolean {
  return one.described !== undefined && other.described !== undefined
    ? canonicalJson(one.described) === canonicalJson(other.described)
    : one.fingerprint === other.fingerprint;
}

/** A unique key of a tool of a server. */
export function keyOf(server: string, name: string): string {
  return JSON.stringify([server, name]);
}

/** JSON with sorted members and without spaces: equal values have equal texts. */
function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`);
  return `{${members.join(",")}}`;
}

/** Milliseconds to wait after a change, since one write causes several events. */
const SETTLE = 20;

/** The file with the approvals, which several processes read and write. */
export class ApprovalsFile {
  readonly path: string;
  readonly #list: SharedList<Approval>;

  constructor(folder: string) {
    this.path = approvalsPath(folder);
    this.#list = new SharedList(this.path, {
      key: "tools",
      parse: (value) => (checkApproval(value) === undefined ? (value as Approval) : undefined),
      advice:
        "Repair it, or delete it: then the tools of all servers count as seen for the first time.",
    });
  }

  async read(): Promise<Map<string, Approval>> {
    return mapOf(this.#list.read());
  }

  /** Changes the file under its lock. Resolves to its new content. */
  async update(change: (all: Map<string, Approval>) => void): Promise<Map<string, Approval>> {
    return this.#list.change((tools) => {
      const all = mapOf(tools);
      change(all);
      const list = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, tool]) => tool);
      return { list, result: all };
    });
  }

  /** Calls back when the file has changed, until the function that it returns. Keeps no process alive. */
  watch(changed: (read: Promise<Map<string, Approval>>) => void): () => void {
    const own = basename(this.path);
    // It is watched as soon as somebody can make it.
    attempt(() => makeFolder(dirname(this.path), 0o700));
    let settle: NodeJS.Timeout | undefined;
    // Watches the folder, since each write replaces the file.
    const stop = watchFolder(dirname(this.path), (name) => {
      if (name !== undefined && name !== own) return;
      settle ??= setTimeout(() => {
        settle = undefined;
        changed(this.read());
      }, SETTLE).unref();
    });
    return () => {
      stop();
      clearTimeout(settle);
    };
  }
}

function mapOf(tools: readonly Approval[]): Map<string, Approval> {
  return new Map(tools.map((tool) => [keyOf(tool.server, tool.name), tool]));
}
