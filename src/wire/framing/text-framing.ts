import type { FrameFault } from "../channel.ts";

/** Receives what a decoder finds. */
export interface TextFrames {
  text(message: string): void;
  fault(fault: FrameFault): void;
}

/** Turns the bytes of one direction into messages, however the chunks fall. */
export interface TextDecoder {
  push(chunk: Buffer): void;
  /** The input is over: what is unfinished is delivered or reported. */
  end(): void;
}

/** How messages are laid into a byte stream and found again. */
export interface TextFraming {
  /** `limit` bounds one message in bytes, and the memory of the decoder. */
  readonly decoder: (limit: number, out: TextFrames) => TextDecoder;
  readonly encode: (message: string) => string;
}
