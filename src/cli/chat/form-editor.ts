import { background } from "../../base/background.ts";
import { fieldsOf, type FieldValue, type QuestionField } from "../../base/question-fields.ts";
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

/** A form at the terminal: a list of rows, some of which are text fields. */
export class FormEditor {
  readonly #schema: unknown;
  readonly #settle: (answer: object) => void;
  readonly #changed: () => void;
  readonly #fields: readonly QuestionField[];
  readonly #rows: readonly Row[];
  readonly #chosen: Map<string, FieldValue>;
  /** What is wrong with what was sent; else empty. */
  problem = "";
  #at = 0;

  constructor(schema: unknown, settle: (answer: object) => void, changed: () => void) {
    this.#schema = schema;
    this.#settle = settle;
    this.#changed = changed;
    this.#fields = fieldsOf(schema);
    this.#rows = [...this.#fields.flatMap(rowsOf), { button: "Send" }, { button: "Do not answer" }];
    this.#chosen = new Map(this.#fields.map(({ name, initial }) => [name, initial]));
  }

  /** The text that is being filled in. */
  get editor(): LineEditor | undefined {
    const row = this.#rows[this.#at];
    return row !== undefined && "editor" in row ? row.editor : undefined;
  }

  /** If the form has one field with choices and no other that must be filled in: its choices, to take at once. */
  get quick(): readonly { readonly title: string; readonly take: () => void }[] {
    const [field, ...others] = this.#fields.filter(({ type }) => type === "choice");
    const isEnough = this.#fields.every(
      ({ isRequired, initial, type }) => !isRequired || type === "choice" || initial !== "",
    );
    if (field === undefined || others.length > 0 || !isEnough) return [];
    return field.choices.map(({ title, value }) => ({
      title,
      take: () => {
        this.#chosen.set(field.name, value);
        this.#send();
      },
    }));
  }

  /** Returns false for a key that is not for the form. */
  press(key: Key): boolean {
    this.problem = "";
    const row = this.#rows[this.#at];
    const { name, ctrl } = key;
    const isEnter = name === "return" && !key.meta;
    if (row === undefined) return false;
    if ("editor" in row && !isEnter && row.editor.press(key)) return true;
    if (name === "up" || (ctrl && name === "p")) this.#go(-1);
    else if (name === "down" || (ctrl && name === "n")) this.#go(1);
    else if (isEnter || name === "space") this.#enter(row, isEnter);
    else return false;
    return true;
  }

  rows(width: number, most: number): { readonly rows: Line[]; readonly caret?: Caret } {
    const rows: Line[] = [];
    let here = { from: 0, to: 0 };
    let caret: Caret | undefined;
    let last: QuestionField | undefined;
    for (const [at, row] of this.#rows.entries()) {
      const isHere = at === this.#at;
      const mark = isHere ? span("  \u203a ", "cyan", "bold") : span("    ");
      const from = rows.length;
      if ("field" in row && row.field !== last) rows.push(...headOf(row.field));
      last = "field" in row ? row.field : undefined;
      if ("editor" in row) {
        const typed = row.editor.rows(width, [mark], [span("\u2026", "dim")]);
        if (isHere) caret = { ...typed.caret, row: rows.length + typed.caret.row };
        rows.push(...typed.rows);
      } else {
        const text = "button" in row ? `[ ${row.button} ]` : `${this.#markOf(row)} ${row.title}`;
        rows.push([mark, span(text, ...(isHere ? (["inverse"] as const) : []))]);
      }
      if (isHere) here = { from, to: rows.length };
    }
    const top = Math.max(0, Math.min(here.from, here.to - most));
    const shown = rows.slice(top, Math.max(top + most, here.to));
    return { rows: shown, ...(caret && { caret: { ...caret, row: caret.row - top } }) };
  }

  #go(by: -1 | 1): void {
    const count = this.#rows.length;
    this.#at = (this.#at + by + count) % count;
  }

  /** Enter goes on to the next field, and chooses where one value is chosen; Space only chooses. */
  #enter(row: Row, isEnter: boolean): void {
    if ("button" in row) {
      if (isEnter && row.button === "Send") this.#send();
      else if (isEnter) this.#settle(DECLINED);
      return;
    }
    if (!("editor" in row)) {
      const isMarked = MARKED.has(row.field.type);
      const isKept = isEnter && this.#chosen.get(row.field.name) === row.value;
      if (!isEnter || (!isMarked && !isKept)) this.#choose(row.field, row.value);
    }
    if (!isEnter) return;
    const isOther = (each: Row): boolean => !("field" in each && each.field === row.field);
    this.#at = this.#rows.findIndex((each, at) => at > this.#at && isOther(each));
    // Enter keeps what is chosen already.
    const next = this.#rows[this.#at];
    if (next === undefined || !("value" in next) || next.field.type !== "choice") return;
    const { field } = next;
    const chosen = this.#rows.findIndex(
      (each) =>
        "value" in each && each.field === field && each.value === this.#chosen.get(field.name),
    );
    if (chosen >= 0) this.#at = chosen;
  }

  #choose({ name, type }: QuestionField, value: string | boolean): void {
    const before = this.#chosen.get(name);
    if (type === "boolean") this.#chosen.set(name, before !== true);
    else if (type === "choices") {
      const chosen = before as readonly string[];
      const isOut = chosen.includes(String(value));
      const others = chosen.filter((each) => each !== value);
      this.#chosen.set(name, isOut ? others : [...chosen, String(value)]);
    } else this.#chosen.set(name, before === value ? "" : value);
  }

  #markOf({ field, value }: { readonly field: QuestionField; readonly value: unknown }): string {
    const chosen = this.#chosen.get(field.name);
    const isChosen = Array.isArray(chosen) ? chosen.includes(value) : chosen === value;
    if (MARKED.has(field.type)) return isChosen ? "[x]" : "[ ]";
    return isChosen ? "(x)" : "( )";
  }

  #send(): void {
    const typed = this.#rows.flatMap((row) =>
      "editor" in row ? [[row.field.name, row.editor.text] as const] : [],
    );
    const values = Object.fromEntries([...this.#chosen, ...typed]);
    background(
      formAnswer(this.#schema, this.#fields, values).then((outcome) => {
        if ("answer" in outcome) this.#settle(outcome.answer);
        else this.problem = outcome.problem;
        this.#changed();
      }),
      "Checking a form",
    );
  }
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
