/**
 * Bytes of a read that has filled Node's buffer: more is waiting. Node would read that stream up to
 * 32 times before it looks at any other, so a flood on one connection would slow down all others.
 * After such a read, readers wait for the next turn of the event loop.
 */
export const FULL_READ = 64 * 1024;

/** Resolves when everything else that is ready has had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

type Callback = () => void;

/** What this process does at the end of this turn of the event loop. */
const turn = {
  last: [] as Callback[],
  /** Whether `last` is running, and whether it has sent something. */
  isEnding: false,
  hasSent: false,
  /** Work that is due before the next bytes are sent. */
  due: [] as Callback[],
  /** Work that is due once the next bytes have been sent. */
  owed: [] as Callback[],
};

/**
 * Runs work at the end of this turn of the event loop, when everything that is ready was read, together
 * with all other such work. Promises go on after all of it.
 */
export function atTurnEnd(work: Callback): void {
  if (turn.last.push(work) === 1) setImmediate(endTurn);
}

function endTurn(): void {
  turn.isEnding = true;
  turn.hasSent = false;
  for (const work of turn.last.splice(0)) {
    try {
      work();
    } catch (error) {
      // The others are of other connections. Nobody catches it, as if it ran alone.
      setImmediate(() => {
        throw error;
      });
    }
  }
  turn.isEnding = false;
  // Not earlier: `owed` callbacks may be about the message that was sent last.
  if (turn.hasSent) justSent();
}

/**
 * Runs work before this process sends anything more, on any connection, and at the latest at the end
 * of this turn of the event loop. So a store has written what an answer tells before the answer is
 * sent, and all writes of one turn are one write.
 */
export function beforeSending(work: Callback): void {
  if (turn.due.push(work) === 1) atTurnEnd(aboutToSend);
}

/** To be called by whatever hands messages to the system. Work must not throw. */
export function aboutToSend(): void {
  for (const work of turn.due.splice(0)) work();
}

/**
 * Runs work as soon as this process has handed the bytes of this turn of the event loop to the
 * system: whoever receives them may end this process at once, so the rest of the turn is too late.
 */
export function afterSending(work: Callback): void {
  // If nothing is sent, they run right after the point at which channels would have written.
  if (turn.owed.push(work) === 1) process.nextTick(() => setImmediate(justSent));
}

/** To be called by whatever has handed bytes to the system. Work must not throw. */
export function justSent(): void {
  turn.hasSent = true;
  if (turn.isEnding) return;
  for (const work of turn.owed.splice(0)) work();
}
