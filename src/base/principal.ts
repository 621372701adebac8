/** Who is behind a connection, where the transport knows. */
export interface Principal {
  /** Tells it apart from all others. */
  readonly id: string;
  /** What its calls go under; where it is left out, what the program calls itself. */
  readonly name?: string | undefined;
}

/** Somebody of whom nothing is known. */
export const ANYONE: Principal = { id: "" };
