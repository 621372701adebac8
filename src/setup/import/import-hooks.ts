import { join } from "node:path";

import { fileWords } from "../../base/errors.ts";
import { maskWhole } from "../../base/text/mask.ts";
import { type HookSettings, readHooks } from "../../hooks/hook.ts";
import { readProgramFile } from "../change.ts";
import { isMap, valueAt } from "../format/format.ts";
import type { Places, Target } from "../targets.ts";

/** A hook of Claude Code, and what importing it would do. */
export interface HookCandidate {
  readonly event: string;
  readonly matcher: string;
  readonly command: string;
  /** As the configuration has it. */
  readonly entry: object;
  /** Why it is not taken over. */
  readonly problem?: string;
  readonly isKnown: boolean;
}

interface CollectedHooks {
  readonly hooks: readonly HookCandidate[];
  /** Why its file could not be read. */
  readonly problems: readonly string[];
}

/** The hooks that Claude Code has for all projects. `known` are the user's own here. */
export function collectHooks(
  targets: readonly Target[],
  places: Places,
  known: HookSettings,
): CollectedHooks {
  const target = targets.find(({ name }) => name === "claude-code");
  if (target === undefined) return { hooks: [], problems: [] };
  const file = join(target.folder(places), "settings.json");
  try {
    const { text } = readProgramFile(file);
    const all = text === undefined ? undefined : valueAt(target.format.read(text), ["hooks"]);
    return { hooks: isMap(all) ? [...candidates(all, known)] : [], problems: [] };
  } catch (error) {
    return { hooks: [], problems: [`Cannot read '${file}': ${fileWords(error, file)}`] };
  }
}

function* candidates(
  all: Readonly<Record<string, unknown>>,
  known: HookSettings,
): Generator<HookCandidate> {
  for (const [event, groups] of Object.entries(all)) {
    for (const group of listOf(groups)) {
      for (const entry of listOf(group.hooks)) {
        const [matcher, command] = [textOf(group.matcher), textOf(entry.command)];
        const hook = { event, matcher, command, entry };
        const isKnown = listOf(Object.hasOwn(known, event) ? known[event] : []).some(
          (own) =>
            textOf(own.matcher) === matcher &&
            listOf(own.hooks).some((each) => textOf(each.command) === command),
        );
        let problem: string | undefined;
        const settings = { [event]: [{ matcher, hooks: [entry] }] };
        readHooks(settings, "user", (says) => (problem = says));
        yield problem === undefined ? { ...hook, isKnown } : { ...hook, isKnown, problem };
      }
    }
  }
}

function listOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isMap) : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A hook in a list for people. */
export function hookLine({ event, matcher, command, problem, isKnown }: HookCandidate): string {
  const head = `hook for ${event}${matcher === "" ? "" : ` (${matcher})`} (Claude Code): `;
  if (isKnown) return `${head}already there`;
  if (problem !== undefined) return `${head}not taken over. ${problem}`;
  return `${head}RUNS AS YOU: ${maskWhole(command)}`;
}

/** The edits of our configuration that add hooks to those that are there. */
export function hookEdits(
  fresh: readonly HookCandidate[],
  known: HookSettings,
): { readonly path: readonly string[]; readonly value: unknown }[] {
  return [...Map.groupBy(fresh, ({ event }) => event)].map(([event, hooks]) => {
    const added = hooks.map(({ matcher, entry }) => {
      return { ...(matcher === "" ? {} : { matcher }), hooks: [entry] };
    });
    const before = Object.hasOwn(known, event) ? (known[event] ?? []) : [];
    return { path: ["hooks", event], value: [...before, ...added] };
  });
}
