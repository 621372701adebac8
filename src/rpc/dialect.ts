import { type Code } from "./codes.ts";

/** What differs between the protocols that speak JSON-RPC, and nothing else. */
export interface Dialect {
  readonly name: string;
  /** Arrays of messages are answered; elsewhere they are an invalid request. */
  readonly batches: boolean;
  /** A message with a method and `"id": null` is a notification; elsewhere an invalid request. */
  readonly nullIdIsNotification: boolean;
  readonly cancel: {
    /** The notification that names a request to give up, in `params.requestId`. */
    readonly method: string;
    /** What a cancelled request is answered with; where nothing, the document forbids an answer. */
    readonly answer?: Code;
  };
  /** The message of -32601. */
  readonly methodNotFound: (method: string) => string;
}
