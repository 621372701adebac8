import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { ThreadDetail, ThreadRow } from "../../server/dashboard/api.ts";
import type { ChangedFile, ChangedFiles, FileDiff } from "../../server/dashboard/session-api.ts";
import { get, post } from "../client/request.ts";
import { drafts, mayDo, sessions, threads } from "../client/state.ts";
import { plural } from "../text/format.ts";
import { hunksIn } from "../text/unified-diff.ts";
import { Counts, type DiffPlace, DiffView } from "../view/diff-view.tsx";
import { Form, Submit } from "../view/fields.tsx";
import { LineWhyView } from "../view/line-why.tsx";
import { act, Badge, Button, Empty, Unloaded, useDraft, useLoaded } from "../view/parts.tsx";
import type { OpenSession } from "./open-session.ts";

/** Files that are drawn at first; a button draws more. */
const MANY = 200;
/** The diff of a small change is open at once. */
const FEW = 5;

/** What the session changed, file by file, with comments on lines. */
export function ChangesView({ session }: { readonly session: OpenSession }): JSX.Element {
  const [shown, setShown] = useState(MANY);
  const row = sessions.get(session.id);
  const endOfTurn = useRef(row?.last);
  if (row?.state === "idle") endOfTurn.current = row.last;
  const [changes, failed, reload] = useLoaded(
    () => get<ChangedFiles>(`${session.path}/files`),
    [session, endOfTurn.current],
  );
  useEffect(() => {
    threads.load().catch(reportError);
  }, []);
  if (changes === undefined) return <Unloaded what="The changes" failed={failed} />;
  const { files, says, against, base } = changes;
  const left = <LeftComments session={session} files={files} />;
  if (files.length === 0) {
    return (
      <Empty title="Nothing is changed">
        {says ?? ""}
        {left}
      </Empty>
    );
  }
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <div class="changes">
      <div class="toolbar">
        <strong>{plural(files.length, "file")}</strong>
        <Counts added={added} removed={removed} />
        <span class="note">
          {against === "git" && base !== undefined ? `against ${base.slice(0, 10)}` : ""}
          {against === "journal" ? "against what was there before the agent's changes" : ""}
        </span>
        <span class="space" />
        <Button class="quiet small" onClick={reload}>
          Reload
        </Button>
      </div>
      {says === undefined ? null : <p class="note">{says}</p>}
      {left}
      {files.slice(0, shown).map((file) => (
        <FileView key={file.path} session={session} file={file} isOpen={files.length <= FEW} />
      ))}
      {files.length <= shown ? null : (
        <Button onClick={() => setShown(shown + MANY)}>Show more of {files.length} files</Button>
      )}
    </div>
  );
}

const LETTERS = { added: "A", modified: "M", deleted: "D", renamed: "R" } as const;

function FileView(props: {
  session: OpenSession;
  file: ChangedFile;
  isOpen: boolean;
}): JSX.Element {
  const { session, file } = props;
  const [isOpen, setOpen] = useState(
    () => props.isOpen || begun(session).some(({ path }) => path === file.path),
  );
  const { path, from, change, added, removed } = file;
  return (
    <details class="file" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class={`letter ${change}`} title={change}>
          {LETTERS[change]}
        </span>
        <span class="path mono">{from === undefined ? path : `${from} → ${path}`}</span>
        <Counts added={added} removed={removed} />
      </summary>
      {isOpen ? <FileChanges session={session} file={file} /> : null}
    </details>
  );
}

function FileChanges({ session, file }: { session: OpenSession; file: ChangedFile }): JSX.Element {
  const { path } = file;
  const [places, setPlaces] = useState<readonly DiffPlace[]>(() =>
    begun(session).filter((each) => each.path === path),
  );
  const [asked, setAsked] = useState<readonly DiffPlace[]>([]);
  const [found, failed] = useLoaded(
    () => get<FileDiff>(`${session.path}/diff?path=${encodeURIComponent(path)}`),
    // By object, which is new after each load: other lines may have changed, though the counts are equal.
    [file],
  );
  if (found === undefined) return <Unloaded what={path} failed={failed} />;
  if (file.isBinary === true) return <p class="note">A binary file.</p>;
  const hunks = hunksIn(found.diff);
  const own = threads.rows.value.filter((each) => each.path === path && isAbout(each, session));
  const isAt = (at: DiffPlace, { side, line }: DiffPlace): boolean =>
    at.side === side && at.line === line;
  const canComment = mayDo("review");
  const without = (place: DiffPlace): DiffPlace[] => places.filter((each) => !isAt(each, place));
  const form = (place: DiffPlace): JSX.Element => (
    <CommentForm
      key={keyOf(place)}
      session={session}
      path={path}
      place={place}
      onDone={() => setPlaces(without(place))}
    />
  );
  // The agent may have changed the file since a comment was begun.
  const lines = new Set(
    hunks.flatMap((hunk) =>
      hunk.lines.map(({ new: to, old }) => (to === undefined ? `old/${old}` : `new/${to}`)),
    ),
  );
  const gone = places.filter((place) => !lines.has(keyOf(place)));
  return (
    <>
      <DiffView
        hunks={hunks}
        label={`Diff of ${path}`}
        {...(canComment ? { onComment: (at) => setPlaces([...without(at), at]) } : {})}
        onAsk={(at) => {
          const others = asked.filter((each) => !isAt(at, each));
          setAsked(others.length < asked.length ? others : [...asked, at]);
        }}
        under={(at) => {
          const here = own.filter(({ side, line, end }) =>
            isAt(at, { side, line: end ?? line ?? 0 }),
          );
          const isWriting = places.some((place) => isAt(at, place));
          const isAsked = asked.some((place) => isAt(at, place));
          if (here.length === 0 && !isWriting && !isAsked) return null;
          const query = `file=${encodeURIComponent(path)}&line=${at.line}&side=${at.side}`;
          return (
            <>
              {isAsked ? <LineWhyView path={`${session.path}/why?${query}`} /> : null}
              {here.map((thread) => (
                <ThreadNote key={thread.id} thread={thread} />
              ))}
              {isWriting ? form(at) : null}
            </>
          );
        }}
      />
      {gone.map(form)}
      {found.isCut ? <p class="note">The diff is longer than what is shown.</p> : null}
    </>
  );
}

function keyOf({ side, line }: DiffPlace): string {
  return `${side}/${line}`;
}

/** The comments of a session that were begun and not sent. */
function begun({ id }: OpenSession): (DiffPlace & { readonly path: string })[] {
  return drafts.keysAfter(`comment/${id}/`).map((key) => {
    const [side, line, ...path] = key.split("/");
    return { side: side === "old" ? "old" : "new", line: Number(line), path: path.join("/") };
  });
}

/** Comments that were begun on files that are not changed any more. */
function LeftComments(props: { session: OpenSession; files: readonly ChangedFile[] }): JSX.Element {
  const { session, files } = props;
  const [, setRound] = useState(0);
  const left = begun(session).filter((each) => !files.some(({ path }) => path === each.path));
  return (
    <>
      {left.map((place) => {
        const key = `comment/${session.id}/${keyOf(place)}/${place.path}`;
        const discard = (): void => {
          drafts.keep(key, "");
          setRound((n) => n + 1);
        };
        return (
          <p key={key} class="note">
            Not sent, on {place.path}:{place.line}: {drafts.get(key)}{" "}
            <Button class="quiet small" onClick={discard}>
              Discard
            </Button>
          </p>
        );
      })}
    </>
  );
}

function isAbout(thread: ThreadRow, session: OpenSession): boolean {
  const cwd = session.detail.value?.row.cwd ?? "";
  const { root } = thread.repository;
  return thread.session === session.id || cwd === root || cwd.startsWith(`${root}/`);
}

function ThreadNote({ thread }: { readonly thread: ThreadRow }): JSX.Element {
  const { id, state, by, comment, updated } = thread;
  const [detail] = useLoaded(() => get<ThreadDetail>(`/threads/${id}`), [id, updated]);
  const [, ...replies] = detail?.events.filter(({ text }) => text !== undefined) ?? [];
  return (
    <div class="thread">
      <Badge tone={state === "resolved" ? "good" : "wait"}>{state}</Badge> <strong>{by}</strong>{" "}
      <span class="comment">{comment}</span>
      {replies.map(({ seq, by: from, text }) => (
        <p key={seq}>
          <strong>{from}</strong> {text}
        </p>
      ))}
    </div>
  );
}

function CommentForm(props: {
  readonly session: OpenSession;
  readonly path: string;
  readonly place: DiffPlace;
  readonly onDone: () => void;
}): JSX.Element {
  const { session, path, place } = props;
  const [text, setText] = useDraft(`comment/${session.id}/${keyOf(place)}/${path}`);
  const onDone = (): void => {
    setText("");
    props.onDone();
  };
  const [severity, setSeverity] = useState("should");
  const field = useRef<HTMLTextAreaElement>(null);
  // A restored draft does not take the focus.
  useEffect(() => (text === "" ? field.current?.focus() : undefined), []);
  const send = (): void =>
    act(async () => {
      const body = { path, ...place, text, severity };
      threads.put(await post<ThreadRow>(`${session.path}/comment`, body));
      onDone();
    });
  return (
    <Form class="comment-form" aria-label={`Comment on line ${place.line}`} onSend={send}>
      <textarea
        rows={3}
        required
        aria-label="Comment"
        placeholder="The agent is told about this line"
        value={text}
        ref={field}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <div class="buttons">
        <select
          aria-label="Severity"
          value={severity}
          onChange={(event) => setSeverity(event.currentTarget.value)}
        >
          {["must", "should", "nit", "question"].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <span class="space" />
        <Button class="quiet" onClick={onDone}>
          Cancel
        </Button>
        <Submit>Comment</Submit>
      </div>
    </Form>
  );
}
