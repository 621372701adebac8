import { type Signal, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { RequestError } from "../client/request.ts";
import { drafts, me } from "../client/state.ts";
import { ago, clock } from "../text/format.ts";

/** The error of the last action, shown until it is dismissed. */
export const problem = signal<string | undefined>(undefined);

/** Runs the action of a button. If the server refuses it, its message is shown. */
export function act(work: () => Promise<unknown>): void {
  problem.value = undefined;
  running = work().catch((error: unknown) => {
    if (!(error instanceof RequestError)) throw error;
    problem.value = error.message;
  });
}

/** The action that was begun last, for the button that has begun it. */
let running: Promise<unknown> | undefined;

function takeRunning(): Promise<unknown> | undefined {
  const taken = running;
  running = undefined;
  return taken;
}

const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 10_000);

export function Ago({ at }: { readonly at: number }): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={clock(at)}>
      {ago(at, Math.max(now.value, at))}
    </time>
  );
}

/** A button that sends no form. It is busy until the action that it has begun by `act` has ended. */
export function Button(props: JSX.IntrinsicElements["button"]): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const press: typeof props.onClick = function press(event) {
    if (isBusy) return;
    running = undefined;
    props.onClick?.(event);
    const begun = takeRunning();
    if (begun === undefined) return;
    setBusy(true);
    begun.finally(() => setBusy(false)).catch(reportError);
  };
  return <button type="button" {...props} aria-busy={isBusy || undefined} onClick={press} />;
}

/** A button that has to be pressed twice, for what cannot be taken back. */
export function SureButton({
  says,
  what,
  act: work,
}: {
  says: string;
  what: string;
  act: () => Promise<void>;
}): JSX.Element {
  const [isSure, setSure] = useState(false);
  return (
    <Button
      class={isSure ? "danger small" : "quiet small"}
      aria-label={isSure ? `Really ${says.toLowerCase()} ${what}` : `${says} ${what}`}
      onBlur={() => setSure(false)}
      onClick={() => (isSure ? act(work) : setSure(true))}
    >
      {isSure ? "Really?" : says}
    </Button>
  );
}

/** A text that is being written, and what changes it. It is kept in the browser until it is empty. */
export function useDraft(key: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => drafts.get(key));
  const set = (next: string): void => {
    drafts.keep(key, next);
    setText(next);
  };
  return [text, set];
}

export type Tone = "plain" | "good" | "busy" | "wait" | "bad";

export function Badge(props: {
  readonly tone?: Tone;
  readonly title?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <span class={`badge ${props.tone ?? "plain"}`} title={props.title}>
      {props.children}
    </span>
  );
}

/** A cell with a second line below its first, in smaller type; either may be code. */
export function TwoLines(props: {
  readonly main: ComponentChildren;
  readonly sub: ComponentChildren;
  readonly code?: "main" | "sub";
}): JSX.Element {
  const { main, sub, code } = props;
  return (
    <>
      <span class={code === "main" ? "main mono" : "main"}>{main}</span>
      <span class={code === "sub" ? "sub mono" : "sub"}>{sub}</span>
    </>
  );
}

export function CopyButton({ text, label }: { text: string; label?: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <Button
      class="quiet small"
      aria-label={label ?? "Copy"}
      onClick={() => {
        copy(text).then(
          () => setCopied(true),
          () => {
            problem.value = "The browser does not allow copying here. Select the text instead.";
          },
        );
      }}
    >
      {isCopied ? "Copied" : "Copy"}
    </Button>
  );
}

async function copy(text: string): Promise<void> {
  // Browsers have no clipboard on a page of another machine without TLS.
  if (navigator.clipboard === undefined) throw new Error("no clipboard");
  await navigator.clipboard.writeText(text);
}

/** A command to type on the machine of the gateway, or elsewhere, with a button to copy it. */
export function Command(props: { run: string; isElsewhere?: boolean }): JSX.Element {
  const { program = "trunkline" } = (props.isElsewhere ? undefined : me.value) ?? {};
  const run = props.run.replace(/^trunkline(?= )/, () => program);
  return (
    <div class="command">
      <code>{run}</code>
      <CopyButton text={run} label={`Copy: ${run}`} />
    </div>
  );
}

/** Stands for a list that has nothing. `run` is the command that adds something. */
export function Empty(props: {
  readonly title: string;
  readonly run?: string;
  readonly isElsewhere?: boolean;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const { title, run, isElsewhere = false, children } = props;
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children}
      {run === undefined ? null : <Command run={run} isElsewhere={isElsewhere} />}
    </div>
  );
}

/** Stands for content that is still loading, or says why it cannot be loaded. */
export function Unloaded(props: { what: string; failed: string | undefined }): JSX.Element {
  const { what, failed } = props;
  if (failed === undefined) return <p class="loading">Loading …</p>;
  return <Empty title={`${what} cannot be loaded`}>{failed}</Empty>;
}

/** A list of names and values, without those whose value is undefined. */
export function Facts(props: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
  readonly class?: string;
}): JSX.Element {
  const known = props.facts.filter(([, value]) => value !== undefined);
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={props.class}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The head of a page: its name, and what can be done with it. */
export function PageHead(props: {
  readonly title: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <header class="page-head">
      <h1>{props.title}</h1>
      {props.note === undefined ? null : <span class="note">{props.note}</span>}
      <div class="actions">{props.children}</div>
    </header>
  );
}

export function SearchField(props: {
  readonly value: string;
  readonly label: string;
  readonly onInput: (text: string) => void;
}): JSX.Element {
  return (
    <input
      type="search"
      class="search"
      placeholder={`${props.label}  /`}
      aria-label={props.label}
      value={props.value}
      onInput={(event) => props.onInput(event.currentTarget.value)}
    />
  );
}

/** Writes what a field has into a signal. */
export function setterOf<T>(into: Signal<T>): (value: T) => void {
  return (value) => {
    into.value = value;
  };
}

/** Turns a signal on or off. */
export function toggle(of: Signal<boolean>): () => void {
  return () => {
    of.value = !of.value;
  };
}

export function focusSearch(): boolean {
  const field = document.querySelector<HTMLElement>("main input[type=search]");
  field?.focus();
  return field !== null;
}

/** Loads a value again when `deps` change. Returns the value, the error, and a function to reload it. */
export function useLoaded<T>(
  load: () => Promise<T>,
  deps: readonly unknown[],
): [T | undefined, string | undefined, () => void] {
  const [found, setFound] = useState<T | undefined>(undefined);
  const [failed, setFailed] = useState<string | undefined>(undefined);
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    load().then(
      (value) => {
        if (!isCurrent) return;
        setFound(() => value);
        setFailed(undefined);
      },
      (error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        if (isCurrent) setFailed(error.message);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [...deps, round]);
  return [found, failed, () => setRound((n) => n + 1)];
}

/** The same, loaded again and again while the page is seen. */
export function usePolled<T>(
  load: () => Promise<T>,
  every: number,
  deps: readonly unknown[],
): [T | undefined, string | undefined] {
  const [found, failed, reload] = useLoaded(load, deps);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, every);
    return () => clearInterval(timer);
  }, []);
  return [found, failed];
}
