import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { AuditRow, ToolCallLine, ToolDefinition } from "../../server/dashboard/api.ts";
import { get, post, postLines } from "../client/request.ts";
import { linkTo } from "../client/router.ts";
import {
  argumentsOf,
  fieldsOf,
  type FieldValues,
  type QuestionField,
  valuesOf,
} from "../../base/question-fields.ts";
import { wordIn } from "../session/conversation.ts";
import { QuestionForm } from "../session/question-form.tsx";
import { Pre } from "../session/tool-call.tsx";
import { clock, milliseconds, prettyIn, prettyJson } from "../text/format.ts";
import { Form, Submit } from "../view/fields.tsx";
import { MarkdownView } from "../view/markdown-view.tsx";
import { Badge, Button, Unloaded, useLoaded } from "../view/parts.tsx";
import { checkJson, FormFields } from "./declared-form.tsx";
import { Dialog, Refusal, useAction } from "./dialog.tsx";

type Fields = Readonly<Record<string, unknown>>;

/** What was typed for a tool: in its fields, or as JSON. */
interface Draft {
  readonly values: FieldValues;
  readonly raw?: string | undefined;
}

/** Drafts outlive their dialog, until the page is loaded again. */
const drafts = new Map<string, Draft>();

/** A tool: what it takes, a form for that, a call and what it came to. */
export function ToolDialog(props: {
  readonly name: string;
  readonly description: string | undefined;
  readonly onClose: () => void;
}): JSX.Element {
  const { name, description, onClose } = props;
  const path = `/tools/${encodeURIComponent(name)}`;
  const [tool, failed] = useLoaded(() => get<ToolDefinition>(`${path}/definition`), [name]);
  return (
    <Dialog title={name} onClose={onClose}>
      {description === undefined ? null : <MarkdownView text={description.slice(0, MOST_TEXT)} />}
      {tool === undefined ? (
        <Unloaded what="The tool" failed={failed} />
      ) : (
        <>
          <details>
            <summary>Input schema</summary>
            <Pre text={prettyJson(tool.inputSchema)} label="Input schema" />
          </details>
          {tool.refusal === undefined ? (
            <CallForm tool={tool} path={path} />
          ) : (
            <p class="note">{tool.refusal}</p>
          )}
        </>
      )}
    </Dialog>
  );
}

/** What is known of a call so far. */
interface CallState {
  readonly id?: string;
  readonly progress?: string;
  readonly questions: readonly ({ readonly key: string } & Fields)[];
  readonly result?: Fields;
  readonly error?: string;
  readonly audit?: AuditRow;
}

function afterLine(state: CallState, line: ToolCallLine): CallState {
  if ("call" in line) return { ...state, id: line.call };
  if ("question" in line) return { ...state, questions: [...state.questions, line.question] };
  if ("answered" in line) {
    return { ...state, questions: state.questions.filter(({ key }) => key !== line.answered) };
  }
  if ("progress" in line) {
    const { done, total, message } = line.progress;
    const count = total === undefined ? String(done) : `${done} of ${total}`;
    return { ...state, progress: message === undefined ? count : `${count}: ${message}` };
  }
  return { ...state, ...line };
}

function CallForm({ tool, path }: { tool: ToolDefinition; path: string }): JSX.Element {
  const fields = useMemo(() => fieldsOf(tool.inputSchema), [tool]);
  const form = useRef<HTMLFormElement>(null);
  const running = useRef<AbortController>(undefined);
  const [draft, setDraft] = useState<Draft>(drafts.get(tool.name) ?? { values: {} });
  const [state, setState] = useState<CallState>({ questions: [] });
  const [isBusy, refusal, run] = useAction();
  useEffect(() => {
    drafts.set(tool.name, draft);
  }, [draft]);
  useEffect(() => () => running.current?.abort(), []);
  const call = (): void =>
    run(async () => {
      const stop = new AbortController();
      running.current = stop;
      setState({ questions: [] });
      const tell = (line: ToolCallLine): void => setState((before) => afterLine(before, line));
      const args = { arguments: given(fields, draft) };
      await postLines(`${path}/call`, args, tell, stop.signal).catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
        setState((before) => ({ ...before, error: "You have cancelled the call." }));
      });
    });
  return (
    <>
      <Form
        ref={form}
        aria-label={`Call ${tool.name}`}
        onSend={call}
        onKeyDown={(event) => {
          if (event.key === "Enter" && event.ctrlKey) event.currentTarget.requestSubmit();
        }}
      >
        <ArgumentFields fields={fields} draft={draft} onChange={setDraft} form={form} />
        <div class="buttons">
          <Submit disabled={isBusy}>Call</Submit>
          {isBusy ? <Button onClick={() => running.current?.abort()}>Cancel</Button> : null}
          <span class="note" role="status">
            {isBusy ? (state.progress ?? "Running …") : ""}
          </span>
        </div>
      </Form>
      {state.questions.map((question) => (
        <section key={question.key} class="card" aria-label="The tool asks">
          <p>{wordIn(question["message"])}</p>
          <QuestionForm
            question={question}
            onAnswer={(answer) => {
              post(`/calls/${state.id}/answer`, { question: question.key, answer }).catch(
                (error: Error) => setState((before) => ({ ...before, error: error.message })),
              );
            }}
          />
        </section>
      ))}
      <Refusal says={refusal ?? state.error} />
      {state.result === undefined ? null : <Result result={state.result} />}
      {state.audit === undefined ? null : <AuditLine row={state.audit} />}
    </>
  );
}

function given(fields: readonly QuestionField[], { values, raw }: Draft): unknown {
  if (raw === undefined) return argumentsOf(fields, values);
  return raw.trim() === "" ? {} : JSON.parse(raw);
}

const NO_FIELDS = "The form has no fields for some of this. Call it as it is, or change it.";

/** The arguments, in fields or as JSON. */
function ArgumentFields(props: {
  readonly fields: readonly QuestionField[];
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly form: { readonly current: HTMLFormElement | null };
}): JSX.Element {
  const { fields, draft, onChange, form } = props;
  const { values, raw } = draft;
  const [hint, setHint] = useState("");
  const toggle = (): void => {
    setHint("");
    if (raw === undefined) {
      // Texts that are not JSON would be lost.
      const texts = [...(form.current?.querySelectorAll("textarea") ?? [])];
      if (texts.some(({ validity }) => validity.customError)) form.current?.reportValidity();
      else onChange({ values, raw: JSON.stringify(argumentsOf(fields, values), null, 2) });
      return;
    }
    if (form.current?.reportValidity() !== true) return;
    const found = valuesOf(fields, given(fields, draft) as Fields);
    if (found === undefined) setHint(NO_FIELDS);
    else onChange({ values: found });
  };
  return (
    <>
      {raw === undefined ? (
        <FormFields
          isLong
          fields={fields}
          values={values}
          onChange={(next) => onChange({ values: next })}
        />
      ) : (
        <label class="field">
          <span>Arguments as JSON</span>
          <textarea
            class="mono"
            rows={8}
            value={raw}
            onInput={(event) => {
              checkJson(event.currentTarget);
              onChange({ values, raw: event.currentTarget.value });
            }}
          />
          {hint === "" ? null : <small role="alert">{hint}</small>}
        </label>
      )}
      {raw === undefined && fields.length === 0 ? <p class="note">It takes no arguments.</p> : null}
      <Button class="quiet small" aria-pressed={raw !== undefined} onClick={toggle}>
        As JSON
      </Button>
    </>
  );
}

/** Characters that are shown as Markdown: longer texts would take a page long to lay out. */
const MOST_TEXT = 20_000;
const PICTURES = /^image\/(?:png|jpeg|gif|webp)$/;

function Result({ result }: { readonly result: Fields }): JSX.Element {
  const content = Array.isArray(result["content"]) ? (result["content"] as Fields[]) : [];
  const structured = result["structuredContent"];
  const isError = result["isError"] === true;
  return (
    <section class="tool-content" aria-label="Answer">
      {isError ? <Badge tone="bad">error</Badge> : <Badge tone="good">answer</Badge>}
      {content.map(partView)}
      {structured === undefined ? null : (
        <details open={content.length === 0}>
          <summary>Structured content</summary>
          <Pre text={prettyJson(structured)} label="Structured content" />
        </details>
      )}
    </section>
  );
}

function partView(part: Fields, key: number): ComponentChildren {
  const resource = (part["resource"] ?? {}) as Fields;
  const mime = wordIn(part["mimeType"] ?? resource["mimeType"]);
  const data = part["data"] ?? resource["blob"];
  const text = part["text"] ?? resource["text"];
  if (typeof text === "string") return <Text key={key} text={text} />;
  if (typeof data === "string" && PICTURES.test(mime)) {
    return <img key={key} src={`data:${mime};base64,${data}`} alt="Picture of the answer" />;
  }
  const uri = part["uri"] ?? resource["uri"];
  return (
    <p key={key} class="note mono">
      {[part["type"], mime, uri]
        .filter((word) => typeof word === "string" && word !== "")
        .join(" ")}
    </p>
  );
}

function Text({ text }: { readonly text: string }): JSX.Element {
  const json = /^\s*[[{]/.test(text) && text.length <= MOST_TEXT ? prettyIn(text) : undefined;
  if (json !== undefined || text.length > MOST_TEXT) {
    return <Pre text={json ?? text} label="Answer" />;
  }
  return <MarkdownView text={text} />;
}

/** The call in the audit. */
function AuditLine({ row }: { readonly row: AuditRow }): JSX.Element {
  const { time, tool, caller, door, outcome = "", reason, session = "" } = row;
  return (
    <p class="audit-line" aria-label="Audit line">
      <a href={`${linkTo("audit")}?q=${encodeURIComponent(session)}`}>Audit</a>{" "}
      <span class="mono">{clock(Date.parse(time))}</span> <code>{tool}</code> by {caller} ({door}){" "}
      <Badge tone={outcome === "ok" ? "good" : "bad"}>{outcome}</Badge>{" "}
      {row.milliseconds === undefined ? "" : milliseconds(row.milliseconds)} {reason ?? ""}
    </p>
  );
}
