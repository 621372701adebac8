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

const SETTLED = Promise.resolve();

/** Read once: the global is a getter, which costs as much as the time. */
const program = process;

/**
 * Milliseconds since this process started. Where a time is needed for each message, it costs a third of
 * `performance.now()`, which checks whom it is called on, in functions that V8 has to compile first.
 */
export function now(): number {
  return program.uptime() * 1000;
}

/** Not a number outside of a callback of the event loop. */
let readAt = NaN;

/**
 * The time at which this callback of the event loop first asked for it, by `now()`. Many messages are
 * read in one callback: they came at the same time.
 */
export function readTime(): number {
  if (Number.isNaN(readAt)) {
    readAt = now();
    // Cheaper than `queueMicrotask`, which makes an object for whoever follows asynchronous work.
    SETTLED.then(forgetTime, forgetTime);
  }
  return readAt;
}

function forgetTime(): void {
  readAt = NaN;
}

/** How often in a row work need not wait, at most, after a turn in which at most one message was sent. */
const MOST_EARLY = 31;

type Work = () => void;

/** What this process does in this turn of the event loop. */
interface Turn {
  /** Work for its end. */
  readonly last: Work[];
  /** Whether that runs now, and whether something was sent by it. */
  isEnding: boolean;
  hasSent: boolean;
  /** How often work need not wait for it. */
  early: number;
  /** How often it need not after the next such turn: the longer messages are alone, the more often. */
  trust: number;
  /** Messages that were sent since such work was last done. */
  sent: number;
  /** Work that is due before the next bytes are sent. */
  readonly due: Work[];
  /** What is sent at its end. */
  readonly leaving: Work[];
  /** Work that is due once the next bytes have been sent. */
  readonly owed: Work[];
}

const turn: Turn = {
  last: [],
  isEnding: false,
  hasSent: false,
  early: 0,
  trust: 0,
  sent: 0,
  due: [],
  leaving: [],
  owed: [],
};
const { last, due, leaving, owed } = turn;

/**
 * Runs work at the end of this turn of the event loop, when all that is ready was read, together with all
 * other such work: an immediate for each costs more than most of it. Promises go on after all of it.
 *
 * Where messages are sent one by one, there is nothing to wait for, and an immediate makes one more turn
 * of the loop. Then work runs as soon as promises have gone on that wait for what was just read. Now and
 * then it waits all the same, to see whether more than one message is sent in a turn.
 */
export function atTurnEnd(work: Work): void {
  if (last.push(work) !== 1) return;
  if (turn.early === 0) {
    setImmediate(endTurn);
  } else {
    turn.early--;
    SETTLED.then(endEarly, endEarly);
  }
}

function endTurn(): void {
  runLast();
  turn.early = turn.trust;
  turn.trust = Math.min(2 * turn.trust + 1, MOST_EARLY);
  countSent();
}

function endEarly(): void {
  // What is owed would be done now, and the answer that it is about may still be on its way here.
  if (owed.length > 0) {
    setImmediate(endTurn);
    return;
  }
  runLast();
  countSent();
}

/** What is owed waits for all that is sent now: it may be about the last of it. */
function runLast(): void {
  turn.isEnding = true;
  turn.hasSent = false;
  runAll(last);
  turn.isEnding = false;
  if (turn.hasSent) justSent();
}

/** Where several messages were sent, the next turns are waited for. */
function countSent(): void {
  if (turn.sent > 1) {
    turn.early = 0;
    turn.trust = 0;
  }
  turn.sent = 0;
}

function runAll(works: Work[]): void {
  for (const work of works.splice(0)) {
    try {
      work();
    } catch (error) {
      // The others are of other connections. Nobody catches it, as if it ran alone.
      setImmediate(() => {
        throw error;
      });
    }
  }
}

/**
 * Runs work before this process sends anything more, on any connection, and at the latest at the end
 * of this turn of the event loop. So a store has written what an answer tells before the answer is
 * sent, and all writes of one turn are one write.
 */
export function beforeSending(work: Work): void {
  if (due.push(work) === 1) atTurnEnd(sendNothing);
}

function sendNothing(): void {
  aboutToSend(0);
}

/** To be called by whatever hands messages to the system. Work must not throw. */
export function aboutToSend(messages: number): void {
  turn.sent += messages;
  if (due.length > 0) for (const work of due.splice(0)) work();
}

/**
 * Sends something when what is due before is done: at once if that is nothing, else at the end of this
 * turn of the event loop, so that it is done once for all that is sent in the turn.
 */
export function sendWithTurn(send: Work): void {
  if (due.length > 0 || leaving.length > 0) {
    if (leaving.push(send) === 1) atTurnEnd(sendAll);
    return;
  }
  send();
  justSent();
}

function sendAll(): void {
  aboutToSend(leaving.length);
  runAll(leaving);
  justSent();
}

/**
 * Runs work as soon as this process has handed the bytes of this turn of the event loop to the
 * system: whoever receives them may end this process at once, so the rest of the turn is too late.
 */
export function afterSending(work: Work): void {
  // Where nothing is sent, right after channels would have written at the end of the turn.
  if (owed.push(work) === 1) process.nextTick(() => setImmediate(justSent));
}

/** To be called by whatever has handed bytes to the system. Work must not throw. */
export function justSent(): void {
  turn.hasSent = true;
  if (turn.isEnding) return;
  if (owed.length > 0) for (const work of owed.splice(0)) work();
}
