import type { Json } from "../acp-app.ts";

/** A piece of what a client was shown: a prompt, a number that the agent said, or a notice. */
type Token =
  | { readonly kind: "prompt"; readonly tag: string }
  | { readonly kind: "number"; readonly tag: string; readonly number: number }
  | { readonly kind: "notice" };

/** A prompt, and how it ended as far as the client knows. */
export interface Turn {
  readonly tag: string;
  /** How many numbers the agent is to say. */
  readonly count: number;
  end?: "finished" | "interrupted" | "unknown";
  /** The prompt was answered, if only with an error. */
  isAnswered?: boolean;
}

const NOTICE = "\n\n[This turn was interrupted: it was told]\n\n";
const PROMPT = /^pace (\w+) /;
const NOTICES = /\n\n\[This turn was interrupted: [^\]]*\]\n\n/g;
const PIECE =
  /«(?<prompt>\w+)»|(?<tag>\w+):(?<number>\d+) |(?<notice>\n\n\[This turn was interrupted: [^\]]*\]\n\n)/gy;

/** What a client was shown of a session, in its order. */
export class Shown {
  #text = "";
  /** Number of the last event. */
  last = 0;
  readonly faults: string[] = [];
  /** The client was told that it fell behind. */
  isLagged = false;
  readonly #notes: { words: string; from: number; to: number }[] = [];

  /** Remembers what happened, between the events that are shown. */
  note(words: string): void {
    const at = Math.round(performance.now());
    this.#notes.push({ words: `${at} ${words}`, from: NaN, to: NaN });
  }

  /** What happened, in its order. */
  get notes(): string {
    const told = this.#notes.map(({ words, from, to }) => words || `events ${from} to ${to}`);
    return told.join("\n");
  }

  take({ method, params }: Json): void {
    if (method !== "session/update") return;
    const { update, _meta } = params;
    if (update._meta?.trunkline?.lagged !== undefined) {
      this.isLagged = true;
      return;
    }
    const { seq } = _meta?.trunkline ?? {};
    if (typeof seq === "number") {
      const run = this.#notes.at(-1);
      if (run?.to === seq || run?.to === seq - 1) run.to = seq;
      else this.#notes.push({ words: "", from: seq, to: seq });
      const isLate = seq < this.last && this.faults.length === 0;
      if (isLate) this.faults.push(`event ${seq} came after ${this.last}`);
      this.last = Math.max(this.last, seq);
    }
    const { text = "" } = update.content ?? {};
    // How a turn ended is told in this way to those who look on.
    if (update._meta?.trunkline?.turn?.state === "interrupted" && text === "") this.#text += NOTICE;
    if (update.sessionUpdate === "agent_message_chunk") this.#text += text;
    else if (update.sessionUpdate === "user_message_chunk") {
      const [, tag] = PROMPT.exec(text) ?? [];
      if (tag !== undefined) this.#text += `«${tag}»`;
    }
  }

  /** What the agent said, and notices. */
  get text(): string {
    return this.#text.replaceAll(/«\w+»/g, "");
  }

  get tokens(): Token[] {
    const tokens: Token[] = [];
    let at = 0;
    for (const { 0: all, index, groups = {} } of this.#text.matchAll(PIECE)) {
      at = index + all.length;
      const { prompt, tag = "", number } = groups;
      if (prompt !== undefined) tokens.push({ kind: "prompt", tag: prompt });
      else if (number !== undefined) tokens.push({ kind: "number", tag, number: Number(number) });
      else tokens.push({ kind: "notice" });
    }
    if (at < this.#text.length) {
      this.faults.push(`there is ${JSON.stringify(this.#text.slice(at, at + 100))}`);
    }
    return tokens;
  }
}

/**
 * What is wrong with a session: each prompt is there at most once, and that of a turn of which the client
 * knows the end is. A turn that finished is whole and has no notice, one that was interrupted has its
 * beginning and one notice, and any other is one of the two.
 */
export function faultsOf(loaded: Shown, turns: readonly Turn[]): string[] {
  const said = new Map<string, { numbers: number[]; notices: number }>();
  const faults: string[] = [];
  let present: { numbers: number[]; notices: number } | undefined;
  for (const token of loaded.tokens) {
    if (token.kind === "prompt") {
      if (said.has(token.tag)) faults.push(`${token.tag} was prompted twice`);
      present = { numbers: [], notices: 0 };
      said.set(token.tag, present);
    } else if (token.kind === "notice") {
      if (present === undefined) faults.push("there is a notice before the first prompt");
      else present.notices++;
    } else {
      if (said.get(token.tag) !== present) faults.push(`${token.tag} goes on in another turn`);
      present?.numbers.push(token.number);
    }
  }
  const wrong = turns.flatMap(({ tag, count, end }) => {
    const { numbers = [], notices = 0 } = said.get(tag) ?? {};
    const odd = numbers.findIndex((number, at) => number !== at);
    if (odd !== -1) return [`${tag}: ${numbers[odd]} came instead of ${odd}`];
    if (end === "unknown" && !said.has(tag)) return [];
    const isWhole = numbers.length === count && notices === 0;
    const isBegun = numbers.length <= count && notices === 1;
    const isRight =
      end === "finished" ? isWhole : end === "interrupted" ? isBegun : isWhole || isBegun;
    return isRight
      ? []
      : [`${tag}, ${end}, has ${numbers.length} of ${count} numbers and ${notices} notices`];
  });
  return [...faults, ...loaded.faults, ...wrong];
}

/**
 * Where a client was shown something else than the session has. It knows its own prompts. How a turn
 * ended is part of the answer to its prompt; only clients without that answer must have a notice.
 */
export function differenceOf(shown: Shown, loaded: Shown, turns: readonly Turn[]): string[] {
  const answered = new Set(turns.filter(({ isAnswered }) => isAnswered).map(({ tag }) => tag));
  const seen = shown.tokens.filter(({ kind }) => kind !== "prompt");
  let at = 0;
  let tag = "";
  for (const token of loaded.tokens) {
    if (token.kind === "prompt") {
      ({ tag } = token);
      continue;
    }
    // The end of a turn may be told before it is stored, and shown once more then.
    while (token.kind !== "notice" && at > 0 && isNotice(seen[at]) && isNotice(seen[at - 1])) at++;
    const one = seen[at];
    if (JSON.stringify(one) === JSON.stringify(token)) at++;
    else if (token.kind !== "notice" || !answered.has(tag)) {
      const before = JSON.stringify(seen.slice(Math.max(0, at - 2), at + 2));
      const words = `saw ${before}, but then the session has ${JSON.stringify(token)} in ${tag}`;
      return [words, ...shown.faults];
    }
  }
  if (at === seen.length) return shown.faults;
  return [`saw ${JSON.stringify(seen[at])} after all that the session has`, ...shown.faults];
}

/** The same for sessions whose agent says something else than numbers. Notices are told in other ways too. */
export function textDifference(shown: Shown, loaded: Shown): string[] {
  const [seen = "", has = ""] = [shown, loaded].map(({ text }) => text.replaceAll(NOTICES, ""));
  if (seen === has) return [...shown.faults];
  const from = Math.max(0, commonLength(seen, has) - 50);
  const words = [seen, has].map((text) => JSON.stringify(text.slice(from, from + 150)));
  return [`saw ${words[0]}, but the session has ${words[1]}`, ...shown.faults];
}

function commonLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

function isNotice(token: Token | undefined): boolean {
  return token?.kind === "notice";
}
