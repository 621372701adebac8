import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { UndoneTurn, UndoPreview } from "../../server/dashboard/session-api.ts";
import { get } from "../client/request.ts";
import { act, Button, Unloaded, useLoaded } from "../view/parts.tsx";
import type { OpenSession } from "./open-session.ts";

/** Says which files are restored before that is done. */
export function UndoDialog(props: {
  readonly session: OpenSession;
  readonly onDone: () => void;
}): JSX.Element {
  const { session, onDone } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const [found, failed] = useLoaded(() => get<UndoPreview>(`${session.path}/undo`), [session]);
  const choice = (what: "undo" | "redo", name: string, turn: UndoneTurn): JSX.Element => (
    <>
      <p>{what === "undo" ? "The last turn changed:" : "The last undo restored:"}</p>
      <ul class="mono">
        {turn.files.map((path) => (
          <li key={path}>{path}</li>
        ))}
      </ul>
      {turn.commands.length === 0 ? null : (
        <p class="note">Other effects of its commands stay: {turn.commands.join("; ")}</p>
      )}
      <Button
        class={what === "undo" ? "danger" : ""}
        onClick={() => act(() => session.undo(what).finally(onDone))}
      >
        {name}
      </Button>
    </>
  );
  return (
    <dialog ref={dialog} class="help" aria-label="Undo" onClose={onDone}>
      {found === undefined ? <Unloaded what="What can be undone" failed={failed} /> : null}
      {found?.undo && choice("undo", "Restore these files", found.undo)}
      {found?.redo && choice("redo", "Redo", found.redo)}
      {found !== undefined && !found.undo && !found.redo ? (
        <p>There is nothing to undo.</p>
      ) : null}{" "}
      <Button class="quiet" onClick={onDone}>
        Cancel
      </Button>
    </dialog>
  );
}
