import { effect, signal } from "@preact/signals";

import { attempt } from "../../base/attempt.ts";
import type {
  AgentChoice,
  NewRun,
  NewSession,
  SettingBody,
} from "../../server/dashboard/session-api.ts";
import { type SettingChoice, settingChoices } from "../session/open-session.ts";
import type { NamedImage } from "../session/prompt-images.ts";

/** What was typed into the dialog. */
export interface StartDraft {
  readonly isOpen: boolean;
  readonly what: "session" | "run";
  readonly folder: string;
  /** Empty: the default one. */
  readonly agent: string;
  readonly worktree: boolean;
  readonly branch: string;
  /** What was chosen of the settings of the agent, by kind and id. */
  readonly settings: Readonly<Record<string, SettingBody>>;
  readonly repository: string;
  readonly revision: string;
  readonly pullRequest: boolean;
  readonly text: string;
}

const EMPTY: StartDraft = {
  ...{ isOpen: false, what: "session", folder: "", agent: "", worktree: false, branch: "" },
  ...{ settings: {}, repository: "", revision: "", pullRequest: false, text: "" },
};

const KEY = "trunkline.start";

/** A draft as it was stored. What does not have the type of a draft is not taken. Exported for its test. */
export function readDraft(text: string | null): StartDraft {
  return attempt(() => {
    const stored = JSON.parse(text ?? "{}") as Record<string, unknown>;
    const fits = ([name, value]: [string, unknown]): boolean =>
      Object.hasOwn(EMPTY, name) &&
      value !== null &&
      typeof value === typeof EMPTY[name as keyof StartDraft];
    return { ...EMPTY, ...Object.fromEntries(Object.entries(stored).filter(fits)) };
  }, EMPTY);
}

/** The draft lives as long as its tab, so a reload loses nothing but the images. */
export const draft = signal(readDraft(globalThis.sessionStorage?.getItem(KEY) ?? null));
export const draftImages = signal<readonly NamedImage[]>([]);

/** A browser may refuse to store anything; then the draft lives as long as the page. */
export function storeDrafts(): void {
  effect(() => {
    const text = JSON.stringify(draft.value);
    attempt(() => sessionStorage.setItem(KEY, text));
  });
}

export function change(changed: Partial<StartDraft>): void {
  draft.value = { ...draft.value, ...changed };
}

/** Empties the texts of the session that was begun, and keeps the choices for the next one. */
export function clearDraft(): void {
  draftImages.value = [];
  change({ isOpen: false, text: "", branch: "" });
}

/** What an agent offers, with what was chosen of it; `body` is absent where nothing was. */
export function offeredSettings(
  offered: AgentChoice["settings"],
  chosen: StartDraft["settings"],
): { readonly choice: SettingChoice; readonly body?: SettingBody }[] {
  return settingChoices(offered).map((choice) => {
    const body = chosen[settingKey(choice)];
    const value = choice.kind === "option" ? body?.value : body?.id;
    const isOffered =
      typeof choice.value === "boolean"
        ? typeof value === "boolean"
        : choice.groups.some(({ choices }) => choices.some((each) => each.value === value));
    // It may offer something else than when that was chosen.
    if (body === undefined || !isOffered) return { choice };
    return { choice: { ...choice, value: value as string | boolean }, body };
  });
}

export function choose(setting: SettingChoice, value: string | boolean): void {
  const { kind, id } = setting;
  const body = kind === "option" ? { kind, id, value } : { kind, id: String(value) };
  change({ settings: { ...draft.value.settings, [settingKey(setting)]: body } });
}

function settingKey({ kind, id }: SettingChoice): string {
  return `${kind} ${id}`;
}

export function sessionOf(
  of: StartDraft,
  images: readonly NamedImage[],
  offered: AgentChoice["settings"] = {},
): NewSession {
  const { folder, agent, worktree, branch } = of;
  const chosen = offeredSettings(offered, of.settings);
  return {
    folder,
    ...(agent === "" ? {} : { agent }),
    ...(worktree ? { worktree, branch: branch.trim() } : {}),
    settings: chosen.flatMap(({ body }) => body ?? []),
    ...(of.text.trim() === "" ? {} : { prompt: promptOf(of, images) }),
  };
}

export function runOf(of: StartDraft, images: readonly NamedImage[]): NewRun {
  const { repository, revision, agent, pullRequest } = of;
  return {
    repository,
    revision: revision.trim(),
    // The server decides where none is asked for.
    ...(pullRequest ? { pullRequest } : {}),
    ...(agent === "" ? {} : { agent }),
    prompt: promptOf(of, images),
  };
}

function promptOf({ text }: StartDraft, images: readonly NamedImage[]): NewRun["prompt"] {
  return { text, images: images.map(({ mimeType, data }) => ({ mimeType, data })) };
}
