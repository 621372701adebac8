import { maskAll, maskWhole } from "../../base/text/mask.ts";
import type { SessionEvent } from "../event.ts";

/** An entry of the log with its event. */
interface Entry {
  readonly event: SessionEvent;
}

/** Events that leave the machine: without secrets, also without those that an answer has in several pieces. */
export async function* exportedEvents<T extends Entry>(
  entries: AsyncIterable<T>,
): AsyncGenerator<T> {
  let run: T[] = [];
  for await (const entry of entries) {
    const kind = pieceOf(entry.event)?.kind;
    const isNext = kind !== undefined && kind === pieceOf(run.at(-1)?.event)?.kind;
    if (!isNext) {
      yield* masked(run);
      run = [];
    }
    run.push(entry);
  }
  yield* masked(run);
}

/** Pieces of one text. Where a secret is in more than one of them, the first gets all of the text. */
function masked<T extends Entry>(run: readonly T[]): T[] {
  const texts = run.map(({ event }) => pieceOf(event)?.text ?? "");
  const whole = maskWhole(texts.join(""));
  const isSplit = whole !== texts.map(maskWhole).join("");
  return run.map((entry, at) => {
    const event = maskAll(entry.event) as SessionEvent;
    if (!isSplit || event.kind !== "update") return { ...entry, event };
    const content = { ...(event.update.content as object), text: at === 0 ? whole : "" };
    return { ...entry, event: { ...event, update: { ...event.update, content } } };
  });
}

function pieceOf(event: SessionEvent | undefined): { kind: string; text: string } | undefined {
  if (event?.kind !== "update") return undefined;
  const { sessionUpdate: kind, content } = event.update as Readonly<Record<string, unknown>>;
  const { text } = (content ?? {}) as { readonly text?: unknown };
  const isPiece = typeof kind === "string" && kind.endsWith("_chunk") && typeof text === "string";
  return isPiece ? { kind, text } : undefined;
}
