import { computed, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { AgentChoice, IdAnswer, FolderPage } from "../../server/dashboard/session-api.ts";
import { get, post, RequestError, START_TIMEOUT_MS } from "../client/request.ts";
import { go, linkTo } from "../client/router.ts";
import { mayDo, sessions } from "../client/state.ts";
import { PromptField } from "../session/prompt-field.tsx";
import { SettingFields } from "../session/setting-fields.tsx";
import { CheckField, Form, Submit, TextField } from "../view/fields.tsx";
import { Badge, Button, setterOf, useLoaded } from "../view/parts.tsx";
import {
  change,
  choose,
  clearDraft,
  draft,
  draftImages,
  offeredSettings,
  runOf,
  sessionOf,
  type StartDraft,
} from "./start-draft.ts";

const MOST_RECENT = 8;

/** An agent takes a while to start, and the dialog may be closed meanwhile. */
const isStarting = signal(false);
const failed = signal<string | undefined>(undefined);
const fail = setterOf(failed);

/** Opens the dialog; false where the person may begin nothing. */
export function openStart(what?: StartDraft["what"]): boolean {
  if (!mayDo("sessions")) return false;
  fail(undefined);
  change({ isOpen: true, ...(what === undefined ? {} : { what }) });
  return true;
}

export function NewSessionButton(): JSX.Element | null {
  if (!mayDo("sessions")) return null;
  return (
    <Button class="primary" onClick={() => openStart("session")}>
      New session
    </Button>
  );
}

/** The folders of the sessions that the person may see, the last used first. */
const recentFolders = computed(() => {
  const rows = sessions.rows.value.filter(({ isRun }) => !isRun);
  const used = rows.toSorted((a, b) => b.updated - a.updated).map(({ cwd }) => cwd);
  return [...new Set(used)].slice(0, MOST_RECENT);
});

/** Begins a session in a folder, or a remote run. */
export function StartDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const isBusy = isStarting.value;
  const says = failed.value;
  const [found, unlisted] = useLoaded(
    () => get<{ readonly agents: readonly AgentChoice[] }>("/start/agents"),
    [],
  );
  const now = draft.value;
  const isRun = now.what === "run";
  const agents = found?.agents ?? [];
  const agent = agents.find(({ name }) => name === now.agent) ?? agents[0];
  const [recent = ""] = recentFolders.value;
  useEffect(() => {
    if (draft.value.folder === "") change({ folder: recent });
  }, [recent]);
  // In a layout effect, so that a key that is typed at once goes to the dialog.
  useLayoutEffect(() => {
    dialog.current?.showModal();
    const first = dialog.current?.querySelector<HTMLElement>(".start-fields .mono");
    (draft.value.folder === "" ? first : field.current)?.focus();
  }, []);
  const images = agent?.takesImages === false ? undefined : draftImages.value;
  const start = async (): Promise<void> => {
    // The agent that is shown: the one of an old draft may be gone.
    const shown = { ...draft.value, agent: agent?.name ?? "" };
    const { id } = isRun
      ? await post<IdAnswer>("/runs", runOf(shown, images ?? []), START_TIMEOUT_MS)
      : await post<IdAnswer>(
          "/sessions",
          sessionOf(shown, images ?? [], agent?.settings),
          START_TIMEOUT_MS,
        );
    clearDraft();
    go(linkTo(isRun ? "runs" : "sessions", id));
  };
  const isReady = isRun
    ? now.repository.trim() !== "" && now.text.trim() !== ""
    : now.folder.trim() !== "";
  const send = (): void => {
    if (isBusy || !isReady) return;
    isStarting.value = true;
    fail(undefined);
    start()
      .catch((error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        fail(error.message);
        // It may have been closed in the meantime.
        change({ isOpen: true });
      })
      .finally(() => {
        isStarting.value = false;
      });
  };
  return (
    <dialog
      ref={dialog}
      class="start-dialog"
      aria-labelledby="start-title"
      onClose={() => change({ isOpen: false })}
    >
      <Form onSend={send}>
        <header class="page-head">
          <h2 id="start-title">{isRun ? "New remote run" : "New session"}</h2>
          <div class="actions">
            <Button onClick={() => dialog.current?.close()}>Close</Button>
          </div>
        </header>
        <div class="start-fields">
          <What />
          {isRun ? <RunFields /> : <FolderField />}
          <div class="start-row">
            <label class="field">
              <span>Agent</span>
              <select
                value={agent?.name}
                onChange={({ currentTarget }) =>
                  change({ agent: currentTarget.value, settings: {} })
                }
              >
                {agents.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            {isRun ? null : <AgentSettings agent={agent} />}
          </div>
          {isRun ? null : <WorktreeFields />}
          <PromptField
            field={field}
            text={now.text}
            placeholder={isRun ? "What should be done?" : "First prompt; @ names a file"}
            onText={(text) => change({ text })}
            onSend={send}
            onProblem={fail}
            folder={isRun || now.folder === "" ? undefined : now.folder}
            images={images}
            onImages={setterOf(draftImages)}
          />
          {(says ?? unlisted) === undefined ? null : (
            <p class="banner bad" role="alert">
              {says ?? unlisted}
            </p>
          )}
          <div class="prompt-bar">
            <span class="note" role="status">
              {isBusy ? "Starting the agent …" : ""}
            </span>
            <span class="space" />
            <Submit disabled={isBusy || !isReady}>Start</Submit>
          </div>
        </div>
      </Form>
    </dialog>
  );
}

const KINDS = [
  { what: "session", says: "Session in a folder" },
  { what: "run", says: "Remote run on a repository" },
] as const;

function What(): JSX.Element {
  return (
    <fieldset>
      <legend>Begin</legend>
      {KINDS.map(({ what, says }) => (
        <CheckField
          key={what}
          isOneOfSome
          name="what"
          label={says}
          checked={draft.value.what === what}
          onCheck={() => change({ what })}
        />
      ))}
    </fieldset>
  );
}

/** A field for what programs read. */
const CODE = { class: "mono", isWide: true };

function FolderField(): JSX.Element {
  const [isPicking, setPicking] = useState(false);
  const { folder } = draft.value;
  return (
    <>
      <div class="start-row">
        <TextField
          {...CODE}
          label="Folder"
          value={folder}
          placeholder="/home/ann/project"
          onText={(text) => change({ folder: text })}
        />
        <Button aria-expanded={isPicking} onClick={() => setPicking(!isPicking)}>
          Browse
        </Button>
      </div>
      {isPicking ? (
        <FolderPicker
          path={folder}
          recent={recentFolders.value}
          onChoose={(path) => change({ folder: path })}
        />
      ) : null}
    </>
  );
}

function AgentSettings({ agent }: { readonly agent: AgentChoice | undefined }): JSX.Element | null {
  if (agent === undefined) return null;
  const offered = offeredSettings(agent.settings, draft.value.settings);
  if (offered.length === 0) {
    return <p class="note">Its modes and models are known once it has started.</p>;
  }
  return <SettingFields choices={offered.map(({ choice }) => choice)} choose={choose} />;
}

function WorktreeFields(): JSX.Element {
  const { worktree, branch } = draft.value;
  return (
    <div class="start-row">
      <CheckField
        label="Work tree of its own"
        checked={worktree}
        onCheck={(isChecked) => change({ worktree: isChecked })}
      />
      {worktree ? (
        <TextField
          {...CODE}
          label="Branch"
          placeholder="a new one"
          value={branch}
          onText={(text) => change({ branch: text })}
        />
      ) : null}
    </div>
  );
}

function RunFields(): JSX.Element {
  const { repository, revision, pullRequest } = draft.value;
  return (
    <>
      <TextField
        {...CODE}
        label="Repository"
        placeholder="https://example.com/team/app.git, or a folder"
        value={repository}
        onText={(text) => change({ repository: text })}
      />
      <div class="start-row">
        <TextField
          {...CODE}
          label="Revision"
          placeholder="the default branch"
          value={revision}
          onText={(text) => change({ revision: text })}
        />
        <CheckField
          label="Open a pull request"
          checked={pullRequest}
          onCheck={(isChecked) => change({ pullRequest: isChecked })}
        />
      </div>
    </>
  );
}

/** The folders in a folder, and those that were used last. The one that is looked at is the one that is chosen. */
function FolderPicker(props: {
  /** Where it begins. */
  readonly path: string;
  readonly recent: readonly string[];
  readonly onChoose: (path: string) => void;
}): JSX.Element {
  const [path, setPath] = useState(props.path);
  const [page, failed] = useLoaded(
    () => get<FolderPage>(`/start/folders?${new URLSearchParams({ path }).toString()}`),
    [path],
  );
  const list = useRef<HTMLUListElement>(null);
  // The pressed button is gone when a new page is shown; the focus stays in the list.
  useEffect(() => list.current?.querySelector("button")?.focus(), [page]);
  const row = (name: string, to: string, isRepository = false): JSX.Element => (
    <li key={to}>
      <Button
        class="quiet"
        onClick={() => {
          setPath(to);
          props.onChoose(to);
        }}
      >
        {name} {isRepository ? <Badge>git</Badge> : null}
      </Button>
    </li>
  );
  return (
    <div class="picker" role="group" aria-label="Folders">
      <ul aria-label="Recent folders">
        {props.recent.filter((each) => each !== path).map((each) => row(each, each))}
      </ul>
      {failed === undefined ? null : <p role="alert">{failed}</p>}
      <ul ref={list} aria-label="Folders here">
        {failed === undefined ? null : row("Begin at the top", "")}
        {page?.parent === undefined ? null : row("↑ Folder above", page.parent)}
        {page?.folders.map(({ name, path: to, isRepository }) => row(name, to, isRepository))}
      </ul>
      {page?.isCut === true ? <p class="note">There are more. Type the path instead.</p> : null}
      {page?.folders.length === 0 ? <p class="note">There is no folder in this one.</p> : null}
    </div>
  );
}
