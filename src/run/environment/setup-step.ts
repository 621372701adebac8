import { visibleLine } from "../../base/text/visible.ts";

/** Commands that run at the same time; the step is over with the last of them. */
export interface SetupStep {
  readonly name: string;
  /** A program with its arguments each. */
  readonly commands: readonly (readonly string[])[];
}

const LONGEST_TITLE = 60;

/** How a line is run that is meant for a shell. */
export function shell(line: string): readonly string[] {
  return ["/bin/sh", "-c", line];
}

/** One line, not too long. */
export function short(text: string): string {
  const line = visibleLine(text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim());
  return line.length <= LONGEST_TITLE ? line : `${line.slice(0, LONGEST_TITLE - 1)}…`;
}
