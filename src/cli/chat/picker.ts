import { columnsOf, type Line, line, span } from "../transcript/styled-line.ts";
import type { Key } from "./terminal-input.ts";

export interface PickerItem {
  readonly value: string;
  /** What is shown; the value where it is left out. */
  readonly label?: string;
  readonly hint?: string;
  /** It needs the person. */
  readonly isUrgent?: boolean;
}

/** A list of which a person chooses one by the arrow keys. */
export class Picker {
  readonly #title: string | undefined;
  #items: readonly PickerItem[];
  #at = 0;
  #query = "";

  /** With a title, what is typed is looked for in the items. */
  constructor(items: readonly PickerItem[], title?: string) {
    this.#items = items;
    this.#title = title;
  }

  get chosen(): PickerItem | undefined {
    return this.#shown[this.#at];
  }

  /** Returns false for a key that is not for the list. */
  press({ name, text, ctrl }: Key): boolean {
    const count = Math.max(1, this.#shown.length);
    if (name === "up" || (ctrl && name === "p")) this.#at = (this.#at - 1 + count) % count;
    else if (name === "down" || (ctrl && name === "n")) this.#at = (this.#at + 1) % count;
    else if (this.#title === undefined) return false;
    else if (name === "backspace") this.#look(this.#query.slice(0, -1));
    else if (text !== "") this.#look(this.#query + text);
    else return false;
    return true;
  }

  rows(width: number, most: number): Line[] {
    const shown = this.#shown;
    const from = Math.max(0, Math.min(this.#at - Math.floor(most / 2), shown.length - most));
    const wide = Math.min(
      Math.floor(width / 2),
      Math.max(8, ...shown.map(({ label, value }) => columnsOf(label ?? value))),
    );
    const rows = shown.slice(from, from + most).map((item, row): Line => {
      const { label = item.value, hint = "", isUrgent = false } = item;
      const isChosen = from + row === this.#at;
      const fill = " ".repeat(Math.max(0, wide - columnsOf(label)));
      const name = span(label + fill, ...(isChosen ? (["inverse"] as const) : []));
      const mark = span(isUrgent ? " ? " : "   ", "yellow", "bold");
      return [mark, name, span(`  ${hint}`, "dim")];
    });
    if (this.#title === undefined) return rows;
    const head = [span(this.#title, "bold"), span(`  ${this.#query}`), span("\u258f", "dim")];
    const none = shown.length === 0 ? [line("   (none)", "dim")] : [];
    return [head, ...rows, ...none];
  }

  #look(query: string): void {
    this.#query = query;
    this.#at = 0;
  }

  get #shown(): readonly PickerItem[] {
    if (this.#query === "") return this.#items;
    const words = this.#query.toLowerCase().split(" ");
    return this.#items.filter(({ value, label = value, hint = "" }) => {
      const text = `${label} ${hint}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }
}
