import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { FolderPage } from "../../server/dashboard/session-api.ts";
import { get } from "../client/request.ts";
import { Badge, Button, useLoaded } from "../view/parts.tsx";

/** The folders in a folder, and those that were used last. The one that is looked at is the one that is chosen. */
export function FolderPicker(props: {
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
  // A button that was pressed is gone then: the keyboard goes on where it was.
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
