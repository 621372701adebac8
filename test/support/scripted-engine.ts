import type { EngineLink } from "../../src/wire/quic/quic-engine.ts";
import type { TakeFrame } from "../../src/wire/quic/control-frame.ts";

/** What the program asked of the engine. */
export interface Commanded {
  readonly kind: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: string;
  readonly lead: number | undefined;
}

/** Stands for the process of the engine: the test says what that tells, and sees what it is asked. */
export class ScriptedEngine implements EngineLink {
  readonly pid = 1;
  readonly commands: Commanded[] = [];
  isEnded = false;
  #take: TakeFrame = () => {};
  #gone: (how: string) => void = () => {};

  receive(take: TakeFrame, gone: (how: string) => void): void {
    this.#take = take;
    this.#gone = gone;
  }

  send(kind: number, flags: number, id: number, payload?: Uint8Array, lead?: number): void {
    const text = payload === undefined ? "" : Buffer.from(payload).toString();
    this.commands.push({ kind, flags, id, payload: text, lead });
  }

  async end(): Promise<void> {
    this.isEnded = true;
  }

  /** The engine tells of something. */
  tell(kind: number, id: number, payload: object | string | number = "", flags = 0): void {
    this.#take(kind, flags, id, bytesOf(payload));
  }

  /** The engine tells of the first bytes of a stream that the peer of a connection opened. */
  tellOfStream(id: number, connection: number, text: string, flags: number): void {
    const lead = Buffer.alloc(4);
    lead.writeUInt32LE(connection);
    this.#take(3, flags, id, Buffer.concat([lead, Buffer.from(text)]));
  }

  crash(how: string): void {
    this.#gone(how);
  }

  /** The commands of a kind, and forgets them. */
  taken(kind: number): Commanded[] {
    const found = this.commands.filter((command) => command.kind === kind);
    for (const command of found) this.commands.splice(this.commands.indexOf(command), 1);
    return found;
  }
}

function bytesOf(payload: object | string | number): Buffer {
  if (typeof payload === "string") return Buffer.from(payload);
  if (typeof payload === "object") return Buffer.from(JSON.stringify(payload));
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(payload);
  return bytes;
}
