import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { NativeConnection } from "./native-connection.ts";
import { type Sender, SendLoad, SendWindow } from "./send-window.ts";

const MOST_UNDER_WAY = 4 * 1024 * 1024;

/** A stream of which so much has arrived when it is counted anew. */
class Counted implements Sender {
  readonly #window: SendWindow;
  arrived = 0;
  resumed = 0;

  constructor(window: SendWindow) {
    this.#window = window;
  }

  recount(): void {
    this.#window.move(-this.arrived, this);
    this.arrived = 0;
  }

  resume(): void {
    this.resumed++;
    this.#window.move(MOST_UNDER_WAY, this);
  }
}

describe("SendWindow", () => {
  it("has room up to its limit, and reports every change", () => {
    const changes: number[] = [];
    const window = new SendWindow((bytes) => changes.push(bytes));
    window.move(MOST_UNDER_WAY - 1);
    assert.equal(window.hasRoom, true);
    window.hold(10);
    window.move(1);
    assert.deepEqual([window.hasRoom, window.size], [false, MOST_UNDER_WAY + 10]);
    assert.deepEqual(changes, [MOST_UNDER_WAY - 1, 10, 1]);
  });

  it("lets streams continue in order as bytes arrive, and no more than there is room for", () => {
    const window = new SendWindow(() => {});
    const [sending, first, second] = [
      new Counted(window),
      new Counted(window),
      new Counted(window),
    ];
    window.move(MOST_UNDER_WAY, sending);
    window.await(first);
    window.await(second);
    assert.equal(window.advance(), false);
    sending.arrived = 1_000;
    assert.equal(window.advance(), true);
    assert.deepEqual([first.resumed, second.resumed, window.isAwaited], [1, 0, true]);
    window.forget(second);
    assert.equal(window.isAwaited, false);
  });
});

describe("SendLoad", () => {
  it("closes the largest connection of the peer with the most unsent bytes in total", () => {
    const givenUp: unknown[] = [];
    const load = new SendLoad((connection) => givenUp.push(connection), 100);
    const open = (peer: string) => {
      const connection = { peer } as NativeConnection;
      const window = new SendWindow((bytes) => load.change(connection, bytes));
      return Object.assign(connection, { window });
    };
    // One has the largest connection; another has more, over two.
    const [single, one, other] = [open("single"), open("double"), open("double")];
    single.window.hold(40);
    one.window.hold(30);
    other.window.hold(25);
    assert.deepEqual(givenUp, []);
    single.window.hold(6);
    assert.deepEqual(givenUp, [one]);
    // What is sent counts no more.
    one.window.hold(-30);
    single.window.hold(1);
    assert.deepEqual(givenUp, [one]);
  });
});
