import { processOf } from "./process-table.ts";

/** Identifies a process in file names: its id and its start time, because ids are reused. */
const MARK = /^(\d+)-(\w+)$/;

let ours: string | undefined;

/** The mark of this process. */
export function ownMark(): string {
  return (ours ??= markOf(process.pid) ?? `${process.pid}-0`);
}

/** Whether this is the mark of a process that has ended. */
export function isMarkOfEnded(mark: string): boolean {
  const [, pid] = MARK.exec(mark) ?? [];
  return pid !== undefined && mark !== ownMark() && mark !== markOf(Number(pid));
}

function markOf(pid: number): string | undefined {
  const found = processOf(pid);
  return found && `${pid}-${found.start.replaceAll(/\W/g, "")}`;
}
