import { isObject, objectIn } from "../../base/check.ts";
import type { Content, JsonSchema, KeptText, ToolOverride, ToolResult } from "../tool.ts";
import type { ToolChange } from "../../config/schema/schema.gen.ts";

type Members = Readonly<Record<string, unknown>>;

/** The owner's changes of one tool: of its description, its arguments and its results. */
export function toolOverride(settings: ToolChange): ToolOverride {
  const changes = Object.entries(settings.arguments ?? {});
  const keep = settings.result?.keep && treeOf(settings.result.keep);
  const drop = settings.result?.drop && treeOf(settings.result.drop);
  /** Whether an argument is hidden from callers, or fixed. */
  const isKept = (name: string): boolean => {
    const { [name]: own } = settings.arguments ?? {};
    return own?.hidden === true || own?.fixed !== undefined;
  };
  /** The result without the members that the owner drops. */
  const projected = (result: ToolResult): ToolResult => {
    if (keep === undefined && drop === undefined) return result;
    return eachJson(result, (value) => {
      const kept = keep === undefined ? value : picked(value, keep, true);
      return drop === undefined ? kept : picked(kept, drop, false);
    });
  };
  return {
    misfit({ inputSchema }) {
      const { properties, required = [] } = inputSchema as {
        properties?: object;
        required?: unknown;
      };
      for (const [name, { hidden, fixed, default: usual }] of changes) {
        if (!Object.hasOwn(properties ?? {}, name)) return `it has no argument '${name}'`;
        const isMissing = hidden === true && fixed === undefined && usual === undefined;
        if (isMissing && (required as readonly unknown[]).includes(name)) {
          return `it needs its argument '${name}', which is hidden without a value`;
        }
      }
      return undefined;
    },
    shown(definition) {
      const { title, description, result } = settings;
      const { inputSchema, outputSchema, ...rest } = definition;
      const { properties, required } = membersOf(inputSchema);
      const shown: Record<string, unknown> = { ...properties };
      const optional = new Set<unknown>();
      for (const [name, { description: says, default: usual }] of changes) {
        const property = shown[name];
        const more = says === undefined ? {} : { description: says };
        shown[name] = {
          ...(isObject(property) && property),
          ...more,
          ...(usual === undefined ? {} : { default: usual }),
        };
        if (usual !== undefined) optional.add(name);
        if (!isKept(name)) continue;
        delete shown[name];
        optional.add(name);
      }
      const schema = {
        ...inputSchema,
        ...(inputSchema.properties !== undefined && { properties: shown }),
        ...(required.length > 0 && { required: required.filter((name) => !optional.has(name)) }),
      };
      return {
        ...rest,
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        inputSchema: schema,
        // A result that is cut would not fit it.
        ...(outputSchema === undefined || result !== undefined ? {} : { outputSchema }),
      };
    },
    foreign: (args) => changes.find(([name]) => isKept(name) && Object.hasOwn(args, name))?.[0],
    sent(args) {
      const sent: Record<string, unknown> = { ...args };
      for (const [name, { fixed, default: usual }] of changes) {
        const given = Object.hasOwn(args, name) ? undefined : usual;
        const value = fixed === undefined ? given : fixed;
        if (value !== undefined) sent[name] = value;
      }
      return sent;
    },
    async result(result, keepText) {
      const { most, items = Infinity } = settings.result ?? {};
      const more = new Set<string>();
      // What the owner drops is not in the kept resource either.
      const all = result.isError === true ? result : projected(result);
      const cut =
        items === Infinity ? all : eachJson(all, (value) => shortened(value, items, { more }));
      const size = Buffer.byteLength(JSON.stringify([cut.content, cut.structuredContent]));
      const isLarge = most !== undefined && size > most;
      if (!isLarge && more.size === 0) return cut;
      const [text, mimeType] = wholeOf(all);
      const kept = await keepText(text, mimeType);
      const where =
        kept === undefined
          ? "It is too large to be kept. Call again for less"
          : `All of it is in the resource ${kept.uri} until ${kept.until}`;
      const link = kept === undefined ? [] : [linkOf(kept, text, mimeType)];
      if (!isLarge) {
        const says = `(Lists of the result were cut: ${[...more].slice(0, 20).join("; ")}. ${where}.)`;
        return { ...cut, content: [...cut.content, { type: "text", text: says }, ...link] };
      }
      const { structuredContent: _, ...rest } = cut;
      const says = `The result has ${size} bytes, more than the ${most} that are passed on at once. ${where}.`;
      const begin = summaryOf(cut, Math.floor(most / 2));
      return { ...rest, content: [{ type: "text", text: `${says}\n${begin}`.trim() }, ...link] };
    },
  };
}

/** A result whose JSON is changed, in its texts and in its structure. */
function eachJson(result: ToolResult, change: (value: unknown) => unknown): ToolResult {
  const { content, structuredContent } = result;
  const texts = content.map((part): Content => {
    const json = part.type === "text" ? objectIn(String(part.text)) : undefined;
    return json === undefined ? part : { ...part, text: JSON.stringify(change(json)) };
  });
  const isStructured = structuredContent !== undefined;
  const structured = isStructured ? { structuredContent: change(structuredContent) } : {};
  return { ...result, content: texts, ...structured };
}

/** A tree of names; a node is empty where a path ends. */
interface PathTree extends Map<string, PathTree> {}

function treeOf(paths: readonly string[]): PathTree {
  const root: PathTree = new Map();
  for (const path of paths) {
    let tree = root;
    for (const name of path.split(".")) {
      tree = tree.getOrInsertComputed(name.replace(/\[\]$/, ""), (): PathTree => new Map());
    }
  }
  return root;
}

/** The part of a value that the paths lead to, or everything but that part. */
function picked(value: unknown, tree: PathTree, isKept: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => picked(item, tree, isKept));
  if (!isObject(value)) return value;
  const left = Object.entries(value).flatMap(([name, item]): [string, unknown][] => {
    const below = tree.get(name) ?? tree.get("*");
    if (below === undefined) return isKept ? [] : [[name, item]];
    if (below.size === 0) return isKept ? [[name, item]] : [];
    return [[name, picked(item, below, isKept)]];
  });
  return Object.fromEntries(left);
}

interface Shortening {
  /** Collects what was left out of lists, and where. */
  readonly more?: Set<string>;
  /** Characters of each text. */
  readonly texts?: number;
}

/** JSON with at most so many items in each list. */
function shortened(value: unknown, items: number, how: Shortening, at = ""): unknown {
  const { more, texts = Infinity } = how;
  if (typeof value === "string" && value.length > texts) {
    return `${value.slice(0, texts)}… (${value.length} characters)`.toWellFormed();
  }
  if (Array.isArray(value)) {
    const left = value.length - items;
    if (left > 0) more?.add(`${left} more in ${at === "" ? "the list" : `'${at}'`}`);
    return value.slice(0, items).map((item) => shortened(item, items, how, at));
  }
  if (!isObject(value)) return value;
  const parts = Object.entries(value).map(([name, item]) => {
    return [name, shortened(item, items, how, at === "" ? name : `${at}.${name}`)] as const;
  });
  return Object.fromEntries(parts);
}

/** Another server's schema may be anything. */
function membersOf({ properties, required }: JsonSchema): {
  readonly properties: Members;
  readonly required: readonly unknown[];
} {
  return {
    properties: isObject(properties) ? properties : {},
    required: Array.isArray(required) ? required : [],
  };
}

/** A result as one text: its texts, or all of it where it has other content, too. */
function wholeOf(result: ToolResult): readonly [text: string, mimeType: string] {
  const { content, structuredContent } = result;
  const isText = content.length > 0 && content.every(({ type }) => type === "text");
  if (!isText) return [JSON.stringify(structuredContent ?? result), "application/json"];
  const text = content.map((part) => String(part.text)).join("\n\n");
  return [text, objectIn(text) === undefined ? "text/plain" : "application/json"];
}

function linkOf({ uri }: KeptText, text: string, mimeType: string): Content {
  const size = Buffer.byteLength(text);
  return { type: "resource_link", uri, name: "result", title: "The whole result", mimeType, size };
}

/** The beginning of a large result. JSON stays JSON, a text ends with a whole line. */
function summaryOf(result: ToolResult, most: number): string {
  const [text] = wholeOf(result);
  const json = result.structuredContent ?? objectIn(text);
  if (json === undefined) {
    const begin = text.slice(0, most);
    const end = begin.lastIndexOf("\n");
    return `It begins with:\n${end > most / 2 ? begin.slice(0, end) : begin}`.toWellFormed();
  }
  for (const items of [10, 5, 2, 1, 0]) {
    const short = JSON.stringify(shortened(json, items, { texts: 40 * items + 10 }));
    const what = `at most ${items} items of each list, and the beginnings of texts`;
    if (Buffer.byteLength(short) <= most) return `In short, with ${what}:\n${short}`;
  }
  return "";
}
