import type { ComponentChildren, ComponentType, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { RequestError } from "../client/request.ts";
import { Button, useLoaded } from "../view/parts.tsx";

/** A window above the page. Escape closes it, and the focus goes back to where it was. */
export function Dialog(props: {
  readonly title: string;
  /** How it is called, where that is not its title. */
  readonly label?: string;
  readonly class?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { title, label = title, class: kind = "form-dialog", onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key: one that is typed at once belongs into the dialog.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    shown?.querySelector<HTMLElement>(".dialog-body :is(input, select, textarea)")?.focus();
    return () => shown?.close();
  }, []);
  return (
    <dialog ref={dialog} class={kind} aria-label={label} onClose={onClose}>
      <header class="page-head">
        <h2>{title}</h2>
        <div class="actions">
          <Button onClick={onClose}>Close</Button>
        </div>
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

/** Says in a dialog why something was refused: what was typed stays. */
export function Refusal({ says }: { readonly says: string | undefined }): JSX.Element {
  return (
    <p role="alert" class="bad">
      {says}
    </p>
  );
}

/** Runs the action of a form: whether it runs, why it was refused, and how to start it. */
export function useAction(): [
  isBusy: boolean,
  refusal: string | undefined,
  run: (work: () => Promise<unknown>) => void,
] {
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | undefined>(undefined);
  const run = (work: () => Promise<unknown>): void => {
    if (isBusy) return;
    setBusy(true);
    setRefusal(undefined);
    work()
      .catch((error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        setRefusal(error.message);
      })
      .finally(() => setBusy(false))
      .catch(reportError);
  };
  return [isBusy, refusal, run];
}

/** A component whose script is loaded when it is first shown: forms are not needed to look at a page. */
export function lazily<P extends object>(
  load: () => Promise<ComponentType<P>>,
): (props: P) => JSX.Element | null {
  return (props) => {
    const [Loaded] = useLoaded(load, []);
    return Loaded === undefined ? null : <Loaded {...props} />;
  };
}
