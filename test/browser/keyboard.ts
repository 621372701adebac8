import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";

import type { Locator, Page } from "playwright-core";

/** More than any page has; who presses Tab so often is in a trap. */
const MOST_STOPS = 200;

/** Of a date and time, in Chromium: six numbers, half of the day, and the calendar. */
const PARTS = 7;

/** A person without a mouse: Tab, Enter and what they type. */
export class Keyboard {
  readonly #page: Page;
  #held = 0;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Goes on to something, and sees at each stop where the focus is. */
  async to(what: Locator): Promise<void> {
    await what.waitFor();
    for (let stop = 0; stop < MOST_STOPS; stop++) {
      if (await what.evaluate((element) => element.matches(":focus"))) return;
      await this.next();
    }
    assert.fail(`Tab does not come to ${String(what)}`);
  }

  async press(what: Locator): Promise<void> {
    await this.to(what);
    await this.#page.keyboard.press("Enter");
  }

  async type(what: Locator, text: string): Promise<void> {
    await this.to(what);
    await this.#page.keyboard.type(text);
  }

  /** To a page, by its link; on a phone the links are in a menu. */
  async visit(name: string): Promise<void> {
    const link = this.#page.getByRole("navigation").getByRole("link", { name });
    if (!(await link.isVisible()))
      await this.press(this.#page.getByRole("button", { name: "Menu" }));
    await this.press(link);
    await this.#page.getByRole("heading", { level: 1 }).waitFor();
  }

  /** Presses Tab once around the page, from its first stop. Returns what it has come to. */
  async around(): Promise<string[]> {
    await this.to(this.#page.getByRole("link", { name: "Skip to the content" }));
    const seen: string[] = [];
    do {
      assert.ok(seen.length < MOST_STOPS, `Tab does not come round: ${seen.join("; ")}`);
      seen.push(await this.next());
    } while (!seen.at(-1)?.startsWith("A Skip"));
    return seen;
  }

  /** The next stop, which can be seen. */
  async next(): Promise<string> {
    const before = await this.#page.evaluate(FOCUS);
    await this.#page.keyboard.press("Tab");
    const now = (await this.#page.evaluate(FOCUS)) as FocusState;
    // The end of the page is a stop as well: the browser's own controls come there.
    if (now.says === "") return now.says;
    assert.equal(now.problem, "", `${now.says} has the focus`);
    // The parts of a date are stops of one field.
    this.#held = isDeepStrictEqual(now, before) ? this.#held + 1 : 0;
    assert.ok(this.#held <= PARTS, `${now.says} holds the focus`);
    return now.says;
  }
}

interface FocusState {
  readonly says: string;
  readonly at: string;
  /** Why a person does not see that it has the focus. */
  readonly problem: string;
}

// Runs in the browser.
const FOCUS = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return { says: "", at: "", problem: "" };
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const [x, y] = [Math.max(0, left), Math.max(0, top)];
  const [width, height] = [Math.min(innerWidth, right) - x, Math.min(innerHeight, bottom) - y];
  const over = document.elementFromPoint(x + width / 2, y + height / 2);
  const isOver = over !== null && (element.contains(over) || over.contains(element));
  const problem =
    width < 1 || height < 1 ? "it is out of view"
    : outlineStyle === "none" || outlineWidth === "0px" ? "it has no outline"
    : isOver || element.labels?.[0]?.contains(over) ? ""
    : "it is covered by " + over?.outerHTML.slice(0, 100);
  const says = element.tagName + " " + (element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent ?? "").slice(0, 60);
  return { says, at: [left, top].map(Math.round).join(), problem };
})()`;
