import { background } from "../../base/background.ts";
import { fieldsOf, type QuestionField } from "../../base/question-fields.ts";
import { DECLINED, formAnswer } from "../session/form-content.ts";
import { type Line, line, span } from "../transcript/styled-line.ts";
import { LineEditor } from "./line-editor.ts";
import type { Caret } from "./live-screen.ts";
import type { Key } from "./terminal-input.ts";

/** A row that the person can go to: one of several values, a text, or a button. */
type Row =
  | { readonly field: QuestionField; readonly value: string | boolean; readonly title: string }
  | { readonly field: QuestionField; readonly editor: LineEditor }
  | { readonly button: "Send" | "Do not answer" };

/** Each row of these fields is a checkbox; the rows of other fields are radio buttons. */
const MARKED: ReadonlySet<QuestionField["type"]> = new Set(["boolean", "choices"]);

export type FormEditor = ReturnType<typeof formEditor>;

/** A form at the terminal: a list of rows, some of which are text fields. */
export function formEditor(schema: unknown, settle: (answer: object) => void, changed: () => void) {
  const fields = fieldsOf(schema);
  const all: readonly Row[] = [
    ...fields.flatMap(rowsOf),
    { button: "Send" },
    { button: "Do not answer" },
  ];
  const values = new Map(fields.map(({ name, initial }) => [name, initial]));
  let at = 0;
  let problem = "";

  /** Returns false for a key that is not for the form. */
  function press(key: Key): boolean {
    problem = "";
    const row = all[at];
    const { name, ctrl } = key;
    const isEnter = name === "return" && !key.meta;
    if (row === undefined) return false;
    if ("editor" in row && !isEnter && row.editor.press(key)) return true;
    if (name === "up" || (ctrl && name === "p")) go(-1);
    else if (name === "down" || (ctrl && name === "n")) go(1);
    else if (isEnter || name === "space") enter(row, isEnter);
    else return false;
    return true;
  }

  function rows(width: number, most: number): { readonly rows: Line[]; readonly caret?: Caret } {
    const drawn: Line[] = [];
    let here = { from: 0, to: 0 };
    let caret: Caret | undefined;
    let last: QuestionField | undefined;
    for (const [index, row] of all.entries()) {
      const isHere = index === at;
      const mark = isHere ? span("  \u203a ", "cyan", "bold") : span("    ");
      const from = drawn.length;
      if ("field" in row && row.field !== last) drawn.push(...headOf(row.field));
      last = "field" in row ? row.field : undefined;
      if ("editor" in row) {
        const typed = row.editor.rows(width, [mark], [span("\u2026", "dim")]);
        if (isHere) caret = { ...typed.caret, row: drawn.length + typed.caret.row };
        drawn.push(...typed.rows);
      } else {
        const text =
          "button" in row ? `[ ${row.button} ]` : `${markOf(row.field, row.value)} ${row.title}`;
        drawn.push([mark, span(text, ...(isHere ? (["inverse"] as const) : []))]);
      }
      if (isHere) here = { from, to: drawn.length };
    }
    const top = Math.max(0, Math.min(here.from, here.to - most));
    const shown = drawn.slice(top, Math.max(top + most, here.to));
    return { rows: shown, ...(caret && { caret: { ...caret, row: caret.row - top } }) };
  }

  function go(by: -1 | 1): void {
    const count = all.length;
    at = (at + by + count) % count;
  }

  /** Enter goes on to the next field, and chooses where one value is chosen; Space only chooses. */
  function enter(row: Row, isEnter: boolean): void {
    if ("button" in row) {
      if (isEnter && row.button === "Send") send();
      else if (isEnter) settle(DECLINED);
      return;
    }
    if (!("editor" in row)) {
      const isMarked = MARKED.has(row.field.type);
      const isKept = isEnter && values.get(row.field.name) === row.value;
      if (!isEnter || (!isMarked && !isKept)) choose(row.field, row.value);
    }
    if (!isEnter) return;
    const isOther = (each: Row): boolean => !("field" in each && each.field === row.field);
    at = all.findIndex((each, index) => index > at && isOther(each));
    // Enter keeps what is chosen already.
    const next = all[at];
    if (next === undefined || !("value" in next) || next.field.type !== "choice") return;
    const { field } = next;
    const chosen = all.findIndex(
      (each) => "value" in each && each.field === field && each.value === values.get(field.name),
    );
    if (chosen >= 0) at = chosen;
  }

  function choose({ name, type }: QuestionField, value: string | boolean): void {
    const before = values.get(name);
    if (type === "boolean") values.set(name, before !== true);
    else if (type === "choices") {
      const chosen = before as readonly string[];
      const isOut = chosen.includes(String(value));
      const others = chosen.filter((each) => each !== value);
      values.set(name, isOut ? others : [...chosen, String(value)]);
    } else values.set(name, before === value ? "" : value);
  }

  function markOf(field: QuestionField, value: unknown): string {
    const chosen = values.get(field.name);
    const isChosen = Array.isArray(chosen) ? chosen.includes(value) : chosen === value;
    if (MARKED.has(field.type)) return isChosen ? "[x]" : "[ ]";
    return isChosen ? "(x)" : "( )";
  }

  function send(): void {
    const typed = all.flatMap((row) =>
      "editor" in row ? [[row.field.name, row.editor.text] as const] : [],
    );
    const filled = Object.fromEntries([...values, ...typed]);
    background(
      formAnswer(schema, fields, filled).then((outcome) => {
        if ("answer" in outcome) settle(outcome.answer);
        else problem = outcome.problem;
        changed();
      }),
      "Checking a form",
    );
  }

  return {
    ...{ press, rows },
    /** What is wrong with what was sent; else empty. */
    get problem(): string {
      return problem;
    },
    /** The text that is being filled in. */
    get editor(): LineEditor | undefined {
      const row = all[at];
      return row !== undefined && "editor" in row ? row.editor : undefined;
    },
    /** If the form has one field with choices and no other that must be filled in: its choices, to take at once. */
    get quick(): readonly { readonly title: string; readonly take: () => void }[] {
      const [field, ...others] = fields.filter(({ type }) => type === "choice");
      const isEnough = fields.every(
        ({ isRequired, initial, type }) => !isRequired || type === "choice" || initial !== "",
      );
      if (field === undefined || others.length > 0 || !isEnough) return [];
      return field.choices.map(({ title, value }) => ({
        title,
        take: () => {
          values.set(field.name, value);
          send();
        },
      }));
    },
  };
}

function rowsOf(field: QuestionField): Row[] {
  const { type, choices, initial, title } = field;
  if (type === "boolean") return [{ field, value: true, title }];
  if (choices.length > 0) {
    return choices.map(({ value, title: name }) => ({ field, value, title: name }));
  }
  const editor = new LineEditor();
  editor.set(String(initial));
  return [{ field, editor }];
}

/** What a field is called, and what is said about it. */
function headOf({ title, type, isRequired, description }: QuestionField): Line[] {
  const how = { lines: "one a line", json: "JSON", number: "a number", choices: "any of" };
  const notes = [how[type as keyof typeof how], isRequired ? undefined : "optional"]
    .filter((each) => each !== undefined)
    .join(", ");
  const name =
    type === "boolean" ? [] : [[span(`  ${title}`), span(notes && ` (${notes})`, "dim")]];
  return [...name, ...(description === undefined ? [] : [line(`    ${description}`, "dim")])];
}
